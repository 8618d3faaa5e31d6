/** The statements with which queues change hands, and what late or lost answers do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put } from '../../../../test/fake/ledger-rows.ts';
import { hook, said } from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { TestStores } from '../../../../test/fake/postgres/stores.ts';
import type { ConversationId, MessageId } from '../../../domain/ids.ts';
import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';
import { WorkingSet } from '../../engine/working-set.ts';
import type { TrailingStatements } from '../write/writer.ts';
import { release } from './queue-statements.ts';
import { Moves } from './moves.ts';
import { OwnedQueues } from './owned-queues.ts';

const ann = { channel: hook, conversation: 'ann' as ConversationId };

/** Moves of instance 7. */
function makeMoves() {
  const rows = new WorkingSet({ now: Date.now, steady: steadyNow });
  const history = { taken: () => {}, left: () => {} };
  let now = 0;
  const steady = (): SteadyTime => now as SteadyTime;
  const queues = new OwnedQueues({ instance: 7, rows, history, steady });
  let asked = 0;
  const moves = new Moves({
    instance: 7,
    rows,
    queues,
    drop: () => false,
    soon: () => void asked++,
    steady,
  });
  /** A message of ann, or of another conversation, arrives with this number. */
  const comes = (n: number, epoch: number, conversation = ann.conversation): void => {
    const id = `m${n}${conversation}` as MessageId;
    const message = { ...said(conversation, 'hello'), conversation, id, acceptedAt: 1 };
    const arrival = { message, seq: n, dedupeKey: null, keyCheck: null } as never;
    const enter = (): never => rows.addMessage(message as never, n).progress as never;
    queues.arrive({ arrival, n, enter }, { owner: 7, epoch, waits: 0 });
  };
  /** The row of ann that is in hand ends. */
  const ends = (): void => {
    const row = rows.take('in', hook);
    assert.ok(row !== undefined);
    rows.settle(row);
  };
  return {
    rows,
    queues,
    moves,
    comes,
    ends,
    asked: () => asked,
    later: (ms: number) => (now += ms),
  };
}

postgresTest('what lets go late lets go of nothing that was taken again since', async () => {
  await using all = await TestStores.open();
  const it = makeMoves();
  await put(all.client, 'lane', { owner: 7, epoch: 3, tail: 1 });
  it.comes(1, 3);
  it.ends();
  const { asked, takes } = it.moves.take(true);
  assert.deepEqual([asked.length, takes], [1, false]);
  // It was released and taken again for a reply that was due, and nothing else has come.
  await all.client.query('UPDATE svc.lane SET epoch = 4');
  const { text, values } = asked[0]!;
  assert.deepEqual((await all.client.query(text, [...values])).rows, []);
  assert.equal((await all.queue('ann'))?.owner, 7);
  await all.client.query('UPDATE svc.lane SET epoch = 3');
  assert.equal((await all.client.query(text, [...values])).rows.length, 1);
  assert.equal((await all.queue('ann'))?.owner, null);
});

test('a quiet queue waits a little for others, and then all are let go together', () => {
  const it = makeMoves();
  assert.equal(it.moves.withinMs, null);
  it.comes(1, 3);
  it.ends();
  const [first] = [it.moves.withinMs];
  assert.ok(first !== null && first > 0, String(first));
  it.later(first - 1);
  it.comes(1, 3, 'bea' as ConversationId);
  it.ends();
  assert.deepEqual(it.moves.take().asked, [], 'the next flight comes before');
  it.later(1);
  const [asked] = it.moves.take().asked;
  assert.equal((JSON.parse(asked!.values[0] as string) as unknown[]).length, 2);
});

for (const [what, happens] of [
  ['there are many', (it) => quieten(it, 99)],
  ['one is to be left', (it) => it.queues.startLeaving(it.queues.get(ann)!)],
  ['all is let go', (it) => it.queues.close()],
  ['something is taken as well', (it) => void it.moves.findEarlierTakes()],
  ['nothing else is to be written', null],
] as readonly (readonly [string, ((it: ReturnType<typeof makeMoves>) => void) | null])[]) {
  test(`a quiet lane waits for no others when ${what}`, () => {
    const it = makeMoves();
    quieten(it, 1);
    happens?.(it);
    const texts = it.moves.take(happens === null).asked.map(({ text }) => text);
    assert.ok(texts.includes(release), texts.join());
  });
}

postgresTest('what is let go is not taken back by what is taken with it', async () => {
  await using all = await TestStores.open();
  const it = makeMoves();
  await put(all.client, 'lane', { owner: 7, epoch: 3, tail: 1 });
  it.comes(1, 3);
  // It leaves with the rows that wait in it.
  it.queues.startLeaving(it.queues.get(ann)!);
  const taking = { channels: [], allBut: [], suspectsOf: 'all' as const, now: 1 };
  void it.moves.takeWaiting(taking);
  for (const { text, values } of it.moves.take().asked) await all.client.query(text, [...values]);
  const { owner, waits } = (await all.queue('ann'))!;
  assert.deepEqual([owner, waits], [null, 2]);
});

test('once all is let go nothing is taken, not even what was asked for before', async () => {
  const it = makeMoves();
  quieten(it, 1);
  const taken = it.moves.findEarlierTakes();
  it.queues.close();
  it.moves.close();
  assert.equal(await taken, false);
  assert.equal(await it.moves.findEarlierTakes(), false);
  assert.deepEqual(
    it.moves.take().asked.map(({ text }) => text),
    [release],
  );
});

/** So many queues have nothing in hand any more. */
function quieten(it: ReturnType<typeof makeMoves>, count: number): void {
  for (let at = 0; at < count; at++) {
    const isFirst = it.queues.get(ann) === undefined;
    it.comes(1, 3, isFirst ? ann.conversation : (`c${at}` as ConversationId));
    it.ends();
  }
}

const letGo = (tail: number, goes: boolean): readonly object[] => [{ ...ann, tail, goes }];

postgresTest('a queue that could not be let go is tried again, and is asked about', async () => {
  const it = makeMoves();
  it.comes(1, 3);
  it.ends();
  let behind: TrailingStatements = it.moves.take(true);
  for (let tries = 0; tries < 20; tries++) {
    assert.equal(behind.asked.length, 1);
    it.moves.landed([[]]);
    assert.notEqual(it.moves.withinMs, null);
    behind = it.moves.take(true);
  }
  assert.equal(behind.asked.length, 2, 'whose it is');
  it.moves.landed([[], [{ ...ann, owner: 7, epoch: 3 }]]);
  assert.ok(it.queues.get(ann), 'it was locked all that time');
  it.moves.take(true);
  it.moves.landed([[], [{ ...ann, owner: 7, epoch: 5 }]]);
  assert.equal(it.queues.get(ann), undefined, 'it was taken again, and that was lost');
  assert.equal(it.moves.withinMs, null);
});

postgresTest(
  'a queue that has grown is read: all of it where it is quiet, else what has come',
  async () => {
    for (const isQuiet of [true, false]) {
      const it = makeMoves();
      it.comes(1, 3);
      it.ends();
      it.moves.take(true);
      // A message that came with the batch before is in hand by now.
      if (!isQuiet) it.comes(2, 3);
      it.moves.landed([letGo(isQuiet ? 2 : 3, false) as never]);
      const [queue] = it.queues.unread.take();
      assert.equal(queue?.unread, isQuiet ? 'all' : 'messages');
    }
  },
);

postgresTest(
  'parked replies that a queue let go of too early are not read into a busy one',
  async () => {
    const it = makeMoves();
    it.comes(1, 3);
    it.ends();
    it.queues.get(ann)!.hasParked = true;
    it.moves.take(true);
    it.comes(2, 3);
    it.moves.landed([letGo(2, false) as never]);
    assert.equal(it.queues.unread.hasAny, false);
    it.ends();
    const { asked } = it.moves.take(true);
    const [row] = JSON.parse(asked[0]!.values[0] as string) as { waits: number }[];
    assert.equal(row!.waits, 1, 'whoever finds them due takes them');
  },
);

test('queues of the dead are free when each of them is told', async () => {
  const it = makeMoves();
  const bea = { ...ann, conversation: 'bea' as ConversationId };
  for (const [freed, isSound] of [
    [[ann, bea], true],
    [[ann], false],
    [null, false],
  ] as const) {
    const free = it.moves.free([ann, bea], 1);
    it.moves.take();
    it.moves.landed(freed === null ? null : [freed]);
    assert.equal(await free, isSound);
  }
});

postgresTest('at the end nobody waits for a take', async () => {
  const it = makeMoves();
  const which = { channels: [hook], allBut: null, suspectsOf: [], now: 1 };
  const before = it.moves.takeWaiting(which);
  it.moves.take(true);
  const underWay = it.moves.free([ann], 1);
  it.moves.end();
  assert.equal(await before, null);
  assert.equal(await underWay, false);
  assert.equal(await it.moves.takeWaiting(which), null);
  assert.equal(await it.moves.findEarlierTakes(), false);
  assert.equal(it.moves.pending, 0);
});
