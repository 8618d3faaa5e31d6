import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { ReplyId } from '../../../src/domain/ids.ts';
import type { OutClaim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  deliverAll,
  deliver,
  effects,
  exchange,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  other,
  promise,
  replyTo,
  said,
  takeOut,
  textsOut,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const why = failure('server_error');
const hot = { park: false, possibleDuplicate: false };
const parked = { park: true, possibleDuplicate: false };
const soon = (): number => Date.now() + 25;
const later = (): number => Date.now() + 3_600_000;

/** How replies go out: in order, again after a failure, and detached when they take long. */
export const outboxCases: readonly LedgerCase[] = [
  promise('a completed turn puts its reply into the outbox', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    await noneOut(it);
    const reply = replyTo(claim, 'naïve 👋 \u0000 "q"');
    await it.ledger.complete(claim, { ...effects(claim, []), replies: [reply] });
    const out = await oneOut(it);
    assert.deepEqual(out.reply, reply);
    assert.deepEqual(
      [out.box, out.attempt, out.possibleDuplicate, out.late],
      ['out', 1, false, false],
    );
  }),
  promise('a turn may have no reply', async (it) => {
    await exchange(it, 'ann', 'hi');
    await noneOut(it);
    await noneIn(it);
  }),
  promise('the replies of a turn go out one at a time, in order', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b', 'c');
    for (const text of ['a', 'b', 'c']) {
      const claim = await oneOut(it);
      assert.equal(claim.reply.text, text);
      await deliver(it, claim);
    }
    await noneOut(it);
  }),
  promise('the replies of later turns come after those of earlier ones', async (it) => {
    await exchange(it, 'ann', 'one', 'a', 'b');
    await exchange(it, 'ann', 'two', 'c');
    assert.deepEqual(textsOut(await takeOut(it, 10)), ['a']);
    await exchange(it, 'ann', 'three', 'd');
    await noneOut(it);
  }),
  promise('every reply of a conversation arrives in the order of its turns', async (it) => {
    await exchange(it, 'ann', 'one', 'a', 'b');
    await exchange(it, 'ann', 'two', 'c');
    await exchange(it, 'ann', 'three', 'd', 'e');
    assert.deepEqual(await deliverAll(it), ['a', 'b', 'c', 'd', 'e']);
  }),
  promise('replies of different conversations go out at once, oldest first', async (it) => {
    for (const who of ['ann', 'bob', 'cid']) await exchange(it, who, 'hi', `to ${who}`);
    assert.deepEqual(textsOut(await takeOut(it, 2)), ['to ann', 'to bob']);
    assert.deepEqual(textsOut(await takeOut(it, 2)), ['to cid']);
  }),
  promise('the inbox goes on while a reply is on its way', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await oneOut(it);
    await accept(it, said('ann', 'two'));
    assert.equal((await oneIn(it)).message.text, 'two');
  }),
  promise('replies go out on the channel of their address', async (it) => {
    await accept(it, said('ann', 'hi', { channel: other }));
    await answer(it, await oneIn(it, other), 'there');
    await noneOut(it);
    assert.equal((await oneOut(it, other)).reply.text, 'there');
  }),
  promise('a deferred reply comes again at its time, with the next number', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const at = soon();
    assert.equal(await it.ledger.defer(await oneOut(it), at, why, hot), true);
    const again = await next(it);
    assert.ok(Date.now() >= at - 2, 'not before its time');
    assert.deepEqual([again.attempt, again.possibleDuplicate, again.late], [2, false, false]);
  }),
  promise('a reply that is given back until a time holds up its conversation alone', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await exchange(it, 'bob', 'hi', 'c');
    const claims = await takeOut(it, 10);
    assert.deepEqual(textsOut(claims), ['a', 'c']);
    await it.ledger.release(claims[0]!, later());
    await deliver(it, claims[1]!);
    await exchange(it, 'cid', 'hi', 'd');
    const [free] = await takeOut(it);
    assert.equal(free?.reply.text, 'd');
    await noneOut(it);
    assert.equal(await it.ledger.delivered(claims[0]!), false, 'the former claim has ended');
  }),
  promise('a reply that is given back until a time comes then, untouched', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    const at = Date.now() + 40;
    await it.ledger.release(await oneOut(it), at);
    const again = await next(it);
    assert.ok(Date.now() >= at - 2, 'not before its time');
    const { reply, attempt, attemptOfSchedule, possibleDuplicate, late } = again;
    assert.deepEqual(
      [reply.text, attempt, attemptOfSchedule, possibleDuplicate, late],
      ['a', 1, 1, false, false],
    );
    await deliver(it, again);
    assert.equal((await oneOut(it)).reply.text, 'b');
  }),
  promise('each deferral counts one attempt', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    for (let attempt = 1; attempt <= 5; attempt++) {
      const claim = await next(it);
      assert.equal(claim.attempt, attempt);
      await it.ledger.defer(claim, Date.now(), why, hot);
    }
  }),
  promise('a reply deferred to a time that has passed comes again at once', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await it.ledger.defer(await oneOut(it), Date.now() - 1_000, why, hot);
    assert.equal((await next(it)).attempt, 2);
  }),
  promise('a deferred reply holds up the later ones of its conversation', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await it.ledger.defer(await oneOut(it), later(), why, hot);
    await exchange(it, 'ann', 'more', 'c');
    await noneOut(it);
  }),
  promise('the later replies follow a deferred one once it is through', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await it.ledger.defer(await oneOut(it), Date.now(), why, hot);
    const again = await next(it);
    assert.equal(again.reply.text, 'a');
    await noneOut(it);
    await deliver(it, again);
    assert.equal((await oneOut(it)).reply.text, 'b');
  }),
  promise('a deferred reply holds up no other conversation, nor the inbox', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await it.ledger.defer(await oneOut(it), later(), why, hot);
    await exchange(it, 'bob', 'hi', 'b');
    assert.equal((await oneOut(it)).reply.text, 'b');
    await accept(it, said('ann', 'two'));
    assert.equal((await oneIn(it)).message.text, 'two');
  }),
  promise('a parked reply is passed by the later ones', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b', 'c');
    await it.ledger.defer(await oneOut(it), later(), why, parked);
    assert.deepEqual(await deliverAll(it), ['b', 'c']);
    await exchange(it, 'ann', 'more', 'd');
    assert.deepEqual(await deliverAll(it), ['d']);
  }),
  promise('a parked reply comes back marked late, beside its conversation', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await it.ledger.defer(await oneOut(it), soon(), why, parked);
    const both = [await next(it), await next(it)];
    assert.deepEqual(textsOut(both), ['b', 'a']);
    const back = both[1]!;
    assert.deepEqual([back.attempt, back.late], [2, true]);
    await deliver(it, ...both);
  }),
  promise('a parked reply that fails again stays parked', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await it.ledger.defer(await oneOut(it), Date.now(), why, parked);
    await it.ledger.defer(await next(it), Date.now(), why, parked);
    const back = await next(it);
    assert.deepEqual([back.reply.text, back.attempt, back.late], ['a', 3, true]);
    await it.ledger.defer(back, later(), why, parked);
    await exchange(it, 'ann', 'more', 'b');
    assert.equal((await oneOut(it)).reply.text, 'b');
  }),
  promise('a parked reply given back can be claimed at once', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await it.ledger.defer(await oneOut(it), Date.now(), why, parked);
    await it.ledger.release(await next(it));
    const back = await oneOut(it);
    assert.deepEqual([back.attempt, back.late], [2, true]);
  }),
  promise('a try that may have arrived marks the next as a possible duplicate', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const claim = await oneOut(it);
    await it.ledger.defer(claim, Date.now(), why, { park: false, possibleDuplicate: true });
    assert.equal((await next(it)).possibleDuplicate, true);
  }),
  promise('what is due first comes first', async (it) => {
    // The machine may pause until one reply is due before all are deferred. Then each comes as it
    // was deferred, which proves nothing about the order of due times.
    for (let stepMs = 50; stepMs < 60_000; stepMs *= 2) {
      for (const who of ['ann', 'bob', 'cid']) await exchange(it, who, 'hi', who);
      const [ann, bob, cid] = (await takeOut(it, 3)) as [OutClaim, OutClaim, OutClaim];
      const now = Date.now();
      const defer = (claim: OutClaim, steps: number): Promise<boolean> =>
        it.ledger.defer(claim, now + steps * stepMs, why, hot);
      await Promise.all([defer(ann, 3), defer(bob, 1), defer(cid, 2)]);
      const allWait = it.ledger.gauges().outboxDeferred === 3;
      const came = [await next(it), await next(it), await next(it)];
      if (allWait) return assert.deepEqual(textsOut(came), ['bob', 'cid', 'ann']);
      await deliver(it, ...came);
    }
    assert.fail('deferred replies never wait');
  }),
  promise('a clock that is set back makes no reply wait longer', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await it.ledger.defer(await oneOut(it), soon(), why, hot);
    it.shiftClock(-3_600_000);
    assert.equal((await next(it)).reply.text, 'a');
  }),
  promise('a buried reply lets the next one go', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    assert.equal(await it.ledger.deadLetter(await oneOut(it), failure('gone')), true);
    assert.equal((await oneOut(it)).reply.text, 'b');
    assert.equal(it.ledger.gauges().deadLetters, 1);
  }),
  promise('when a part of a reply dies the later parts die with it', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    const whole = replyTo(claim, 'x');
    const replies = ['00', '01', '02'].map((part) => ({
      ...whole,
      id: `${whole.id}-${part}` as ReplyId,
      text: part,
    }));
    await it.ledger.complete(claim, { ...effects(claim, []), replies });
    await exchange(it, 'ann', 'more', 'next');
    await deliver(it, await oneOut(it));
    const second = await oneOut(it);
    assert.equal(second.reply.text, '01');
    await it.ledger.deadLetter(second, failure('gone'));
    assert.deepEqual(await deliverAll(it), ['next']);
    assert.equal(it.ledger.gauges().deadLetters, 1, 'they are one dead letter');
    assert.deepEqual(it.ledger.backlog(), []);
  }),
  promise(
    'a buried message tells its sender in the same commit, and the next comes',
    async (it) => {
      await accept(it, said('ann', 'one'), said('ann', 'two'));
      const claim = await oneIn(it);
      assert.equal(
        await it.ledger.deadLetter(claim, failure('fault'), effects(claim, ['sorry'])),
        true,
      );
      assert.equal((await oneOut(it)).reply.text, 'sorry');
      assert.equal((await oneIn(it)).message.text, 'two');
      assert.equal(it.ledger.gauges().deadLetters, 1);
    },
  ),
  promise('a message may be buried without a word', async (it) => {
    await accept(it, said('ann', 'one'));
    assert.equal(await it.ledger.deadLetter(await oneIn(it), failure('unroutable')), true);
    await noneIn(it);
    await noneOut(it);
    assert.deepEqual(it.ledger.backlog(), []);
  }),
];

/** The next reply, as soon as it can be claimed. */
async function next(it: Bench): Promise<OutClaim> {
  const found: OutClaim[] = [];
  await until('a reply can be claimed', async () => {
    found.push(...(await takeOut(it, 1)));
    return found.length > 0;
  });
  return found[0]!;
}
