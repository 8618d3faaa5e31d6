import assert from 'node:assert/strict';
import type { Box } from '../../../src/domain/event.ts';
import { failure } from '../../../src/domain/failure.ts';
import type { Claim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  deliver,
  durably,
  effects,
  exchange,
  hook,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  other,
  promise,
  said,
  takeIn,
  takeOut,
  textsIn,
  textsOut,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const why = failure('server_error');
const hot = { park: false, possibleDuplicate: false };

/** A claim ends once; a released message comes again; each waiting worker is woken. */
export const claimCases: readonly LedgerCase[] = [
  promise('a turn is completed once', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    await answer(it, claim, 'a');
    assert.equal(await it.ledger.complete(claim, effects(claim, ['b'])), false);
    assert.equal((await oneOut(it)).reply.text, 'a');
  }),
  promise('of two completions at the same time one counts', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    const both = ['a', 'b'].map((text) => it.ledger.complete(claim, effects(claim, [text])));
    const counted = (await Promise.all(both)).filter((one) => one);
    assert.equal(counted.length, 1);
    await deliver(it, await oneOut(it));
    await noneOut(it);
  }),
  promise('a completion after a release changes nothing', async (it) => {
    await accept(it, said('ann', 'hi'));
    const stale = await oneIn(it);
    await it.ledger.release(stale);
    assert.equal(await it.ledger.complete(stale, effects(stale, ['stale'])), false);
    await noneOut(it);
    const fresh = await oneIn(it);
    assert.equal(await it.ledger.complete(stale, effects(stale, ['stale'])), false);
    await answer(it, fresh, 'fresh');
    assert.equal((await oneOut(it)).reply.text, 'fresh');
  }),
  promise('what shows a reply is kept with its message, as long as the claim holds', async (it) => {
    await accept(it, said('ann', 'hi'));
    const first = await oneIn(it);
    assert.equal(it.ledger.previews.of(first), null);
    assert.equal(await it.ledger.previews.keep(first, '[7]'), true);
    assert.equal(it.ledger.previews.of(first), '[7]');
    await it.ledger.release(first);
    assert.equal(it.ledger.previews.of(first), null, 'the claim is over');
    assert.equal(await it.ledger.previews.keep(first, '[8]'), false, 'the claim is over');
    const again = await oneIn(it);
    assert.deepEqual([again.message.preview, again.message.text], ['[7]', 'hi']);
    await answer(it, again, 'a');
    assert.equal((await oneOut(it)).reply.text, 'a');
  }),
  promise('a reply comes next once those before it are delivered', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'), said('bob', 'three'));
    const [one, three] = await takeIn(it, 2);
    const { previews } = it.ledger;
    assert.deepEqual([previews.isNext(one!), previews.isNext(three!)], [true, true]);
    await answer(it, one!, 'a');
    const two = await oneIn(it);
    assert.deepEqual([previews.isNext(two), previews.isNext(three!)], [false, true]);
    await deliver(it, await oneOut(it));
    assert.equal(previews.isNext(two), true);
    await it.ledger.release(two);
    assert.equal(previews.isNext(two), false, 'the claim is over');
  }),
  durably('what shows a reply is known after a restart', async (it) => {
    await accept(it, said('ann', 'hi'));
    assert.equal(await it.ledger.previews.keep(await oneIn(it), '[7]'), true);
    await it.reopen();
    assert.equal((await oneIn(it)).message.preview, '[7]');
  }),
  promise('a copy of a claim is no claim', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    const copy = { ...claim };
    assert.equal(await it.ledger.complete(copy, effects(claim, ['a'])), false);
    await answer(it, claim, 'b');
  }),
  promise('a delivery counts once, and nothing comes after it', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    const claim = await oneOut(it);
    await deliver(it, claim);
    assert.equal(await it.ledger.delivered(claim), false);
    assert.equal(await it.ledger.defer(claim, Date.now(), why, hot), false);
    assert.equal(await it.ledger.deadLetter(claim, why), false);
    await it.ledger.release(claim);
    assert.equal((await oneOut(it)).reply.text, 'b');
    assert.equal(it.ledger.gauges().deadLetters, 0);
  }),
  promise('a deferral ends the claim', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const claim = await oneOut(it);
    await it.ledger.defer(claim, Date.now() + 3_600_000, why, hot);
    assert.equal(await it.ledger.delivered(claim), false);
    assert.equal(it.ledger.gauges().outboxDeferred, 1);
  }),
  promise('a burial ends the claim', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    await it.ledger.deadLetter(claim, why);
    assert.equal(await it.ledger.complete(claim, effects(claim, ['a'])), false);
    assert.equal(await it.ledger.deadLetter(claim, why, effects(claim, ['a'])), false);
    await noneOut(it);
    assert.equal(it.ledger.gauges().deadLetters, 1);
  }),
  promise('a released message comes again, first and untouched', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    await it.ledger.release(await oneIn(it));
    const again = await oneIn(it);
    assert.deepEqual([again.message.text, again.attempt], ['one', 1]);
    await noneIn(it);
  }),
  promise('a released reply comes again, first and untouched', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await it.ledger.release(await oneOut(it));
    const again = await oneOut(it);
    assert.deepEqual([again.reply.text, again.attempt, again.possibleDuplicate], ['a', 1, false]);
  }),
  promise('what is given back comes before what waits of other conversations', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'two'));
    const [one] = await takeIn(it);
    await it.ledger.release(one!);
    const claims = [...(await takeIn(it)), ...(await takeIn(it))];
    assert.deepEqual(textsIn(claims), ['one', 'two']);
    for (const claim of claims) await answer(it, claim, `to ${claim.message.text}`);
    const [reply] = await takeOut(it);
    await it.ledger.release(reply!);
    const replies = [...(await takeOut(it)), ...(await takeOut(it))];
    assert.deepEqual(textsOut(replies), ['to one', 'to two']);
  }),
  promise('a release after the end of a claim changes nothing', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    const claim = await oneIn(it);
    await answer(it, claim);
    await it.ledger.release(claim);
    assert.equal((await oneIn(it)).message.text, 'two');
    await noneIn(it);
  }),
  promise('what is released is not offered twice', async (it) => {
    await accept(it, said('ann', 'a'), said('bob', 'b'));
    const claims = await takeIn(it, 2);
    await Promise.all([...claims, ...claims].map((claim) => it.ledger.release(claim)));
    assert.deepEqual(textsIn(await takeIn(it, 10)).sort(), ['a', 'b']);
  }),
  promise('a message wakes the inbox of its channel', async (it) => {
    const woken = listen(it);
    await accept(it, said('ann', 'hi', { channel: other }));
    await until('a wake', () => woken.has(`in ${other}`));
    assert.equal(woken.has(`in ${hook}`), false);
  }),
  promise('a completed turn wakes the outbox, and the inbox for the next message', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    const claim = await oneIn(it);
    const woken = listen(it);
    await answer(it, claim, 'a');
    await until('both wakes', () => woken.has(`in ${hook}`) && woken.has(`out ${hook}`));
  }),
  promise('a delivered reply wakes the outbox for the next', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    const claim = await oneOut(it);
    const woken = listen(it);
    await it.ledger.delivered(claim);
    await until('a wake', () => woken.has(`out ${hook}`));
  }),
  promise('a release wakes', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    const woken = listen(it);
    await it.ledger.release(claim);
    await until('a wake', () => woken.has(`in ${hook}`));
  }),
  promise('a reply that has come due wakes without anybody asking', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const claim = await oneOut(it);
    const woken = listen(it);
    await it.ledger.defer(claim, Date.now() + 20, why, hot);
    await until('a wake', () => woken.has(`out ${hook}`));
    assert.equal((await oneOut(it)).attempt, 2);
  }),
  promise('who has stopped listening hears nothing', async (it) => {
    let wakes = 0;
    it.ledger.onReady(() => wakes++)();
    const woken = listen(it);
    await accept(it, said('ann', 'hi'));
    await until('the other one is woken', () => woken.size > 0);
    assert.equal(wakes, 0);
  }),
  promise('each message that finds everybody asleep wakes them', async (it) => {
    const woken = listen(it);
    for (let i = 0; i < 12; i++) {
      await accept(it, said(`c${i}`, 'hi'));
      await until('a wake', () => woken.delete(`in ${hook}`));
      await answer(it, await oneIn(it));
    }
  }),
  promise('who claims only when woken gets everything', async (it) => {
    const texts: string[] = [];
    drainOnWake(it, texts);
    for (let i = 0; i < 60; i++) {
      await accept(it, said(`c${i % 7}`, `${i}`));
      if (i % 3 === 0) await new Promise(setImmediate);
    }
    await until('60 replies', () => texts.length === 60);
    for (let who = 0; who < 7; who++) {
      const own = texts.map(Number).filter((n) => n % 7 === who);
      assert.deepEqual(
        own,
        [...own].sort((a, b) => a - b),
      );
    }
  }),
];

/** The wakes from now on, as `box channel`. */
function listen(it: Bench): Set<string> {
  const woken = new Set<string>();
  it.ledger.onReady((box, channel) => woken.add(`${box} ${channel}`));
  return woken;
}

/** On each wake, echoes and delivers at most two at a time. */
function drainOnWake(it: Bench, texts: string[]): void {
  const busy = { in: false, out: false };
  const again = { in: false, out: false };
  const drain = async (box: Box): Promise<void> => {
    again[box] = true;
    if (busy[box]) return;
    busy[box] = true;
    while (again[box]) {
      again[box] = false;
      for (;;) {
        const claims: readonly Claim[] =
          box === 'in' ? await it.ledger.claim(box, hook, 2) : await it.ledger.claim(box, hook, 2);
        if (claims.length === 0) break;
        await Promise.all(claims.map(finish));
      }
    }
    busy[box] = false;
  };
  const finish = async (claim: Claim): Promise<void> => {
    if (claim.box === 'in') return answer(it, claim, claim.message.text);
    texts.push(...textsOut([claim]));
    await it.ledger.delivered(claim);
  };
  it.ledger.onReady((box) => void drain(box).catch(() => {}));
}
