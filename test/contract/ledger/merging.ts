import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { Gather, Inbound, Media } from '../../../src/domain/message.ts';
import type { ConversationKey, MessageOwner } from '../../../src/domain/story.ts';
import type { InClaim } from '../../../src/ledger/ledger.ts';
import { byHand } from './takeovers.ts';
import {
  accept,
  answer,
  deliver,
  durably,
  effects,
  hook,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  promise,
  said,
  takeIn,
  textsIn,
  until,
  type ClockedBench,
  type HasLedger,
  type LedgerCase,
} from './kit.ts';

/** Long, so that nothing is late by itself: a case moves the time. */
const ms = 10_000;
const album: Gather = { kind: 'album', key: 'a', ms };
const burst: Gather = { kind: 'burst', ms };
/** A message of that second, by a platform whose clock counts seconds. */
const saidAt = (second: number): Gather => {
  return {
    kind: 'burst',
    ms,
    saidAt: { at: 1_700_000_000_000 + second * 1_000, stepMs: 1_000 },
  };
};
/** The merging ends before another part comes. */
const brief: Gather = { kind: 'burst', ms: 1 };
const fault = failure('fault', { detail: 'thrown' });
const ann = { channel: hook, conversation: said('ann', '').conversation } satisfies ConversationKey;
const ofAnn: MessageOwner = { kind: 'conversation', ...ann };

/** A part that answers a message of its own. */
function part(text: string, gather: Gather, more: Partial<Inbound> = {}): Inbound {
  return said('ann', text, { gather, address: { channel: hook, target: `at ${text}` }, ...more });
}

const byDefault: Pick<Inbound, 'route'> = { route: { number: 2, brain: 'main', matched: [] } };
const byCommand: Pick<Inbound, 'route'> = {
  route: { number: 1, brain: 'coder', matched: [{ key: 'command', value: '/code' }] },
};

function picture(reference: string): Media {
  return { type: 'image/jpeg', reference };
}

/** The merged message that can be claimed, once its time is over. */
async function whole(it: ClockedBench): Promise<InClaim> {
  it.pass(ms + 1);
  const claims: InClaim[] = [];
  await until('what was gathered can be claimed', async () => {
    claims.push(...(await takeIn(it, 10)));
    return claims.length > 0;
  });
  assert.equal(claims.length, 1);
  return claims[0]!;
}

/** Accepts each part alone. */
async function acceptEach(it: HasLedger, ...parts: readonly Inbound[]): Promise<string[]> {
  const ids: string[] = [];
  for (const one of parts) ids.push((await accept(it, one))[0]!.id);
  return ids;
}

/** Parts are rows until their claim. Then they are one message, and end as one. */
export const gatheringCases: readonly LedgerCase[] = [
  promise('an album is one message, answered at its first piece', async (it) => {
    const context = { forwardedFrom: 'Bob' };
    const address = { channel: hook, target: 'first' };
    const ids = await acceptEach(
      it,
      part('', album, { media: picture('1.jpg'), address, context }),
      part('look', album, { media: picture('2.jpg'), further: [picture('3.jpg')], context }),
      part('', album, { media: picture('4.jpg'), context }),
    );
    await noneIn(it);
    const { message } = await whole(it);
    assert.equal(message.id, ids[0]);
    assert.equal(message.text, 'look');
    assert.deepEqual(message.media, picture('1.jpg'));
    assert.deepEqual(message.further, [picture('2.jpg'), picture('3.jpg'), picture('4.jpg')]);
    assert.deepEqual(message.context, context);
    assert.equal(message.address.target, 'first');
    assert.equal(message.gather, undefined);
  }),
  promise('what is said in a burst is one message, answered at its last', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst), part('three', burst));
    const { message } = await whole(it);
    assert.equal(message.text, 'one\ntwo\nthree');
    assert.equal(message.address.target, 'at three');
  }),
  promise('all pieces end with the one turn, which has one reply', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst));
    const claim = await whole(it);
    const { inboxClaimed, inboxWaiting } = it.ledger.gauges();
    assert.deepEqual([inboxClaimed, inboxWaiting], [2, 0]);
    await answer(it, claim, 'both');
    const reply = await oneOut(it);
    assert.equal(reply.reply.text, 'both');
    await deliver(it, reply);
    await noneOut(it);
    await noneIn(it);
    assert.deepEqual(it.ledger.backlog(), []);
    assert.deepEqual(it.ledger.unsettled(10), []);
  }),
  promise('what comes once the turn is at work is a turn of its own', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst));
    const claim = await whole(it);
    await accept(it, part('late', burst));
    assert.equal(claim.message.text, 'one\ntwo');
    await answer(it, claim, 'both');
    assert.equal((await whole(it)).message.text, 'late');
  }),
  promise('what may not be gathered ends a gathering at once', async (it) => {
    await acceptEach(it, part('one', burst), said('ann', '/new'));
    const claim = await oneIn(it);
    assert.equal(claim.message.text, 'one');
    await answer(it, claim);
    assert.equal((await oneIn(it)).message.text, '/new');
  }),
  promise('only one person is gathered, and only one album', async (it) => {
    const bob = { sender: { id: 'bob', name: null } };
    const other: Gather = { ...album, key: 'b' };
    await acceptEach(it, part('one', burst), part('two', burst, bob), part('three', burst, bob));
    await acceptEach(it, part('four', album), part('five', other));
    const texts: string[] = [];
    while (texts.length < 4) {
      const claim = await whole(it);
      texts.push(claim.message.text);
      await answer(it, claim);
    }
    assert.deepEqual(texts, ['one', 'two\nthree', 'four', 'five']);
  }),
  promise('what was said under another stamp is not mixed in', async (it) => {
    const isPrivate = { sensitivity: 'private' } as const;
    await acceptEach(it, part('one', burst), part('two', burst, isPrivate));
    assert.equal((await whole(it)).message.text, 'one');
  }),
  promise('only messages of one route are one, and a command begins one', async (it) => {
    await acceptEach(it, part('one', burst, byDefault), part('/code two', burst, byCommand));
    await acceptEach(it, part('three', burst, byCommand), part('four', burst, byDefault));
    const seen: unknown[] = [];
    while (seen.length < 3) {
      const claim = await whole(it);
      seen.push([claim.message.text, claim.message.route?.brain]);
      await answer(it, claim);
    }
    assert.deepEqual(seen, [
      ['one', 'main'],
      ['/code two\nthree', 'coder'],
      ['four', 'main'],
    ]);
  }),
  promise('an album is one whatever routes its parts took, and never less private', async (it) => {
    await acceptEach(
      it,
      part('', album, { media: picture('1.jpg'), ...byDefault }),
      part('/code look', album, { media: picture('2.jpg'), ...byCommand, sensitivity: 'private' }),
    );
    const { message } = await whole(it);
    assert.deepEqual([message.text, message.media], ['/code look', picture('1.jpg')]);
    assert.deepEqual([message.route, message.sensitivity], [byCommand.route, 'private']);
  }),
  durably('a start joins by the routes that the parts were accepted with', async (it) => {
    await accept(it, part('one', burst, byCommand), part('two', burst, byDefault));
    await accept(it, part('three', album, byDefault), part('/code four', album, byCommand));
    await it.reopen();
    const seen: unknown[] = [];
    while (seen.length < 3) {
      const claim = await whole(it);
      seen.push([claim.message.text, claim.message.route]);
      await answer(it, claim);
    }
    assert.deepEqual(seen, [
      ['one', byCommand.route],
      ['two', byDefault.route],
      ['/code four\nthree', byCommand.route],
    ]);
  }),
  promise('what was said minutes apart is not one, however soon it comes', async (it) => {
    await accept(it, part('one', saidAt(0)), part('two', saidAt(1)), part('three', saidAt(600)));
    const claim = await whole(it);
    assert.equal(claim.message.text, 'one\ntwo');
    await answer(it, claim);
    assert.equal((await whole(it)).message.text, 'three');
  }),
  promise('ten are one message, and no eleventh', async (it) => {
    const gather: Gather = burst;
    const texts = Array.from({ length: 11 }, (_, at) => String(at));
    await accept(it, ...texts.map((text) => part(text, gather)));
    assert.equal((await oneIn(it)).message.text, texts.slice(0, 10).join('\n'));
  }),
  promise('a text that would be too long for one message is one of its own', async (it) => {
    const gather: Gather = burst;
    await accept(it, part('a'.repeat(9_000), gather), part('b'.repeat(9_000), gather));
    assert.equal((await oneIn(it)).message.text.length, 9_000);
  }),
  promise('others go on while one waits for more', async (it) => {
    await accept(it, part('one', burst), said('bob', 'hello'));
    assert.deepEqual(textsIn(await takeIn(it, 1)), ['hello']);
  }),
  promise('what is given back comes again as one', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst));
    await it.ledger.release(await whole(it));
    const { inboxClaimed, inboxWaiting } = it.ledger.gauges();
    assert.deepEqual([inboxClaimed, inboxWaiting], [0, 2]);
    assert.equal((await oneIn(it)).message.text, 'one\ntwo');
  }),
  promise('buried it is as many dead letters as it had pieces', async (it) => {
    const before = it.ledger.gauges().deadLetters;
    await acceptEach(it, part('one', burst), part('two', burst));
    const claim = await whole(it);
    assert.equal(await it.ledger.deadLetter(claim, fault, effects(claim, ['sorry'])), true);
    assert.equal(it.ledger.gauges().deadLetters, before + 2);
    assert.equal((await oneOut(it)).reply.text, 'sorry');
    await noneIn(it);
  }),
  durably('dead pieces that are tried again together are one message again', async (it) => {
    const ids = await acceptEach(it, part('one', burst), part('two', burst));
    await it.ledger.deadLetter(await whole(it), fault);
    for (const id of ids) assert.equal(await it.ledger.replay(id), 'done');
    assert.equal((await whole(it)).message.text, 'one\ntwo');
  }),
  promise('forgotten while it waits for more, all of it goes', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst));
    assert.equal(await it.ledger.forget(ofAnn), 2);
    await accept(it, part('three', brief));
    assert.equal((await whole(it)).message.text, 'three');
  }),
  promise('forgotten while it is at work, the claim is lost', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst));
    const claim = await whole(it);
    await it.ledger.forget(ofAnn);
    assert.equal(claim.stop.stopped, true);
    assert.equal(await it.ledger.complete(claim, effects(claim, ['both'])), false);
    await noneIn(it);
    await noneOut(it);
    assert.deepEqual(it.ledger.unsettled(10), []);
    assert.equal(it.ledger.gauges().inboxClaimed, 0);
  }),
  promise('held by an operator, its pieces are messages to be answered by hand', async (it) => {
    const ids = await acceptEach(it, part('one', burst), part('two', burst));
    await it.ledger.takeovers.hold(ann);
    // Its time ends with the time of this message.
    await accept(it, said('bob', 'hello', { gather: burst }));
    assert.equal((await whole(it)).message.text, 'hello');
    const waiting = await it.ledger.takeovers.waiting(ann);
    assert.deepEqual(
      waiting.map(({ text }) => text),
      ['one', 'two'],
    );
    const answered = await it.ledger.takeovers.answer(ann, ids[0]!, byHand('by hand'));
    assert.equal(answered.kind, 'answered');
    assert.equal(await it.ledger.takeovers.giveBack(ann), 'done');
    assert.equal((await whole(it)).message.text, 'two');
  }),
  promise('held while it is at work, the claim is lost and all of it waits', async (it) => {
    await acceptEach(it, part('one', burst), part('two', burst));
    const claim = await whole(it);
    await it.ledger.takeovers.hold(ann);
    assert.equal(claim.stop.stopped, true);
    assert.equal((await it.ledger.takeovers.waiting(ann)).length, 2);
    assert.equal(await it.ledger.complete(claim, effects(claim, ['both'])), false);
    await it.ledger.takeovers.giveBack(ann);
    assert.equal((await whole(it)).message.text, 'one\ntwo');
  }),
  durably('a start joins what it finds as before', async (it) => {
    await accept(it, part('one', burst), part('two', burst), said('bob', 'hello'));
    await it.reopen();
    it.pass(ms + 1);
    const claims: InClaim[] = [];
    await until('both can be claimed', async () => {
      claims.push(...(await takeIn(it, 10)));
      return claims.length === 2;
    });
    assert.deepEqual(textsIn(claims).toSorted(), ['hello', 'one\ntwo']);
  }),
  durably('a start knows when each was said', async (it) => {
    await accept(it, part('one', saidAt(0)), part('two', saidAt(600)));
    await it.reopen();
    const claim = await whole(it);
    assert.equal(claim.message.text, 'one');
    await answer(it, claim);
    assert.equal((await whole(it)).message.text, 'two');
  }),
  durably('a burst is one however long the start between took', async (it) => {
    const quick = { ...saidAt(0), ms: 1 };
    await acceptEach(it, part('zero', album), part('one', quick));
    await whole(it);
    it.pass(ms);
    await it.reopen();
    await acceptEach(it, part('two', quick));
    await answer(it, await whole(it));
    assert.equal((await whole(it)).message.text, 'one\ntwo');
  }),
  durably('what a start finds waits on for what may yet come', async (it) => {
    await acceptEach(it, part('one', burst));
    await it.reopen();
    await noneIn(it);
    await acceptEach(it, part('two', burst), said('ann', '/new'));
    assert.equal((await whole(it)).message.text, 'one\ntwo');
  }),
  durably('what a start finds and waits for holds nobody up', async (it) => {
    await accept(it, part('one', burst), said('bob', 'hello'));
    await it.reopen();
    // The wakes of the start are over.
    await new Promise(setImmediate);
    const texts: string[] = [];
    const stop = it.ledger.onReady(() => {
      void takeIn(it, 1).then((claims) => texts.push(...textsIn(claims)));
    });
    texts.push(...textsIn(await takeIn(it, 1)));
    await until('bob is claimed', () => texts.length > 0);
    stop();
    assert.deepEqual(texts, ['hello']);
  }),
  promise('a message that has waited long enough stands alone', async (it) => {
    await accept(it, part('one', brief));
    const claim = await whole(it);
    assert.equal(claim.message.text, 'one');
    await answer(it, claim, 'yes');
    assert.equal((await oneOut(it)).reply.text, 'yes');
  }),
];
