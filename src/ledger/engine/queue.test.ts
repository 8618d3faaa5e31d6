import { noStarts } from '../../domain/conversation.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey, ConversationId, MessageId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { RouteTaken } from '../../domain/routing.ts';
import { steadyNow } from '../../lib/clock.ts';
import { mergedMessage, mergeableBehind, type InRow, type WholeInRow } from './queue.ts';
import { OpenClaims } from './claims.ts';
import { WorkingSet } from './working-set.ts';

const channel = 'messenger_a:77' as ChannelKey;
const acceptedAt = 1_000;

/** Messages that one person has sent just now. */
function burst(...texts: readonly string[]) {
  return pieces(...texts.map((text) => ({ text })));
}

function pieces(...all: readonly Partial<Message>[]) {
  const rows = new WorkingSet({ now: () => acceptedAt, steady: steadyNow });
  const said: readonly InRow[] = all.map((piece, at) => {
    const message: Message = {
      id: `m${at}` as MessageId,
      channel,
      conversation: 'ann' as ConversationId,
      sender: { id: 'ann', name: null },
      text: '',
      media: null,
      gather: { kind: 'burst', ms: 1_000 },
      address: { channel, target: 'ann' },
      acceptedAt,
      sensitivity: 'public',
      ...piece,
    };
    return rows.addMessage(message, rows.nextSeq());
  });
  return { rows, said };
}

function mergedWith(row: InRow): readonly string[] {
  return mergeableBehind(row).map(({ message }) => message.text);
}

test('a message that may end the process runs as the message that it is', () => {
  const { rows, said } = burst('one', 'two', 'three');
  const [one, two] = said;
  assert.deepEqual(mergedWith(one!), ['two', 'three']);
  one!.attempt = 2;
  assert.deepEqual(mergedWith(one!), ['two', 'three'], 'one unclean end says little');
  one!.attempt = 3;
  assert.deepEqual(mergedWith(one!), []);
  one!.attempt = 1;
  two!.poison = true;
  assert.deepEqual(mergedWith(one!), [], 'nobody takes one along that is to be buried');
  rows.close();
});

/** The merged message, with the first of these as its head. */
function mergeAll(all: readonly Partial<Message>[]): Message {
  const { rows, said } = pieces(...all);
  const [first] = said as readonly WholeInRow[];
  rows.takeHeld(first!);
  rows.merge(first!);
  rows.close();
  return mergedMessage(first!);
}

/** Messages that the platform dates to these seconds; its clock counts in seconds. */
const saidAtSeconds = (...seconds: readonly number[]) => saidAtMs(1_000, seconds);
function saidAtMs(stepMs: number, times: readonly number[], ms = 1_500) {
  return times.map((time): Partial<Message> => {
    const saidAt = { at: 1_700_000_000_000 + time * stepMs, stepMs };
    return { text: String(time), gather: { kind: 'burst', ms, saidAt } };
  });
}

test('what was said minutes apart is not one, however soon it came after an outage', () => {
  assert.equal(mergeAll(saidAtSeconds(0, 600)).text, '0');
  assert.equal(mergeAll(saidAtSeconds(0, 1, 3, 6, 7)).text, ['0', '1', '3'].join('\n'));
  assert.equal(mergeAll(saidAtMs(1, [0, 1_500, 3_001])).text, '0\n1500');
});

test('what was said in a burst is one, however late the rest came', () => {
  const late = (all: readonly Partial<Message>[]) =>
    all.map((one, at) => ({ ...one, acceptedAt: acceptedAt + at * 60_000 }));
  assert.equal(mergeAll(late(saidAtSeconds(0, 1, 2))).text, '0\n1\n2');
  const untold = { text: 'untold', gather: { kind: 'burst', ms: 1_500 } } as const;
  assert.equal(mergeAll(late([untold, untold])).text, 'untold');
  const album = { text: 'a', gather: inAlbum } as const;
  assert.equal(mergeAll(late([album, album])).text, 'a\na');
});

test('of what is merged the last is said at most ten seconds after the first', () => {
  const seconds = Array.from({ length: 8 }, (_, n) => 2 * n);
  assert.equal(mergeAll(saidAtSeconds(...seconds)).text, '0\n2\n4\n6\n8\n10');
});

const inAlbum = { kind: 'album', key: 'a', ms: 1_000 } as const;

const byDefault: RouteTaken = { number: 3, brain: 'main', matched: [] };
const byCommand: RouteTaken = {
  number: 1,
  brain: 'coder',
  matched: [{ key: 'command', value: '/code' }],
};
const byChat: RouteTaken = { number: 2, brain: 'main', matched: [{ key: 'chat', value: '-1' }] };

test('a burst is merged only where its messages took one route', () => {
  const merged = (...routes: readonly (RouteTaken | undefined)[]): string =>
    mergeAll(routes.map((route, at) => ({ text: String(at), ...(route && { route }) }))).text;
  assert.equal(merged(byDefault, { ...byDefault }), '0\n1');
  assert.equal(merged(undefined, undefined), '0\n1', 'from before there were routes');
  assert.equal(merged(byDefault, byChat), '0', 'the same brain, by another route');
  assert.equal(merged(byDefault, { ...byDefault, brain: 'other' }), '0');
  assert.equal(merged(byDefault, undefined), '0');
});

test('a command of a route begins a message, and joins none', () => {
  const rest = { text: 'the rest', route: byCommand };
  const command = { text: '/code@svc_bot fix this', route: byCommand };
  assert.equal(mergeAll([command, rest]).text, '/code@svc_bot fix this\nthe rest');
  assert.equal(mergeAll([rest, command]).text, 'the rest');
  assert.equal(mergeAll([command, command]).text, command.text);
});

test('an album is one whatever the routes of its parts: the part with the command decides', () => {
  const piece = { gather: inAlbum, route: byDefault };
  const caption = { ...piece, text: '/code look', route: byCommand };
  const first = { ...piece, text: 'at home', sensitivity: 'private' } as const;
  const whole = mergeAll([first, piece, caption]);
  assert.deepEqual([whole.text, whole.route], ['/code look\nat home', byCommand]);
  assert.equal(whole.sensitivity, 'private');
  const later = mergeAll([
    piece,
    { ...piece, text: 'look', sensitivity: 'private', route: byChat },
  ]);
  assert.deepEqual([later.text, later.route, later.sensitivity], ['look', byDefault, 'private']);
});

test('behind a trigger, too, the part with the command decides', () => {
  const piece = { gather: inAlbum, route: byDefault, text: 'at home' };
  const whole = mergeAll([piece, { ...piece, text: '/new /code look', route: byCommand }]);
  assert.deepEqual([whole.text, whole.route], ['/new /code look\nat home', byCommand]);
});

test('an album that was forwarded is one, and from where is told', () => {
  const context = { inGroup: true, forwardedFrom: 'Bob' } as const;
  const piece = { gather: inAlbum, context };
  const whole = mergeAll([piece, { ...piece, text: 'look' }, piece]);
  assert.deepEqual([whole.text, whole.context], ['look', context]);
});

test('what comes from elsewhere is not merged with it', () => {
  for (const gather of [inAlbum, { kind: 'burst', ms: 1_000 }] as const) {
    const own = { gather, text: 'my own' };
    const forwarded = { gather, text: 'not mine', context: { forwardedFrom: null } };
    assert.equal(mergeAll([own, forwarded]).text, 'my own');
    assert.equal(mergeAll([forwarded, own]).text, 'not mine');
  }
});

test('in a group, too, what a later part of an album replies to is told', () => {
  const quoted = { text: 'which?', by: 'us', name: null, at: 0 } as const;
  const context = { inGroup: true, quoted } as const;
  const first = { gather: inAlbum, context: { inGroup: true } } as const;
  assert.deepEqual(mergeAll([first, { ...first, context }]).context, context);
});

test('what was merged is waiting again once it was given back', () => {
  const { rows, said } = burst('one', 'two');
  const [one, two] = said;
  rows.takeHeld(one!);
  rows.merge(one!);
  assert.deepEqual([one!.merged, two!.taken], [[two], true]);
  assert.equal(rows.gauges().inboxClaimed, 2);
  rows.giveBack(one!);
  assert.deepEqual([two!.taken, rows.gauges().inboxClaimed, one!.merged], [false, 0, []]);
  rows.close();
});

test('what was merged with a message that the storage had no more is taken next', () => {
  const { rows, said } = burst('one', 'two');
  const [one, two] = said;
  rows.takeHeld(one!);
  rows.merge(one!);
  rows.lost(one!);
  assert.deepEqual([two!.taken, two!.queue.inbox.peek()], [false, two]);
  assert.deepEqual([rows.gauges().inboxClaimed, rows.totals.unsettled], [0, 1]);
  rows.close();
});

test('a claim is lost with any of its parts', () => {
  const { rows, said } = burst('one', 'two');
  const [one, two] = said as WholeInRow[];
  const open = new OpenClaims();
  const memory = {
    session: { number: 1, startedAt: 0 },
    turns: [],
    windows: noStarts,
    previousAt: null,
    empty: true,
  };
  rows.takeHeld(one!);
  rows.merge(one!);
  const claim = open.claimIn(one!, memory);
  assert.equal(claim.message.text, 'one\ntwo');
  assert.deepEqual(
    open.revoke((row) => row === two),
    [one],
  );
  assert.equal(claim.stop.stopped, true);
  rows.close();
});

test('one that waits for more after all rings, since another may be taken', async () => {
  const { rows, said } = burst('one');
  await new Promise(setImmediate);
  let rings = 0;
  rows.onReady(() => rings++);
  rows.takeHeld(said[0]!);
  assert.equal(rows.waitToMerge(said[0]!), true);
  await new Promise(setImmediate);
  assert.deepEqual([rings, rows.gauges().inboxClaimed], [1, 0]);
  rows.close();
});
