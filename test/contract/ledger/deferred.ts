import assert from 'node:assert/strict';
import { failure, type Failure } from '../../../src/domain/failure.ts';
import type { DeferredFilter } from '../../../src/domain/records.ts';
import type { OutClaim } from '../../../src/ledger/ledger.ts';
import {
  deliver,
  durably,
  exchange,
  hook,
  noneOut,
  oneOut,
  other,
  accept,
  answer,
  oneIn,
  promise,
  said,
  takeOut,
  textsOut,
  until,
  type Bench,
  type ClockedBench,
  type HasLedger,
  type LedgerCase,
} from './kit.ts';
import { patienceMs } from '../../support/waiting.ts';

/** Its receiver asks for an hour, so even a due time after a restart may lie ahead. */
const broken = failure('server_error', { status: 500, retryAfterMs: 3_600_000 });
const refused = failure('connect_failed');
const hot = { park: false, possibleDuplicate: false };
const parked = { park: true, possibleDuplicate: false };
const hour = 3_600_000;
const later = (): number => Date.now() + hour;
const any: DeferredFilter = { channel: null, failure: null, status: null };
const none = { kind: 'moved', moved: 0, more: false };
const one = { kind: 'moved', moved: 1, more: false };

const tryOne = (it: HasLedger, id: string) => it.ledger.deferred.tryNow({ kind: 'one', id }, 1);
const tryAll = (it: HasLedger, filter: Partial<DeferredFilter> = {}, most = 100) =>
  it.ledger.deferred.tryNow(
    { kind: 'all', filter: { ...any, ...filter }, before: Date.now() + 1 },
    most,
  );

/** A reply whose attempt has failed, and that waits for an hour. */
async function failed(
  it: HasLedger,
  who: string,
  how: typeof hot = hot,
  why: Failure = broken,
): Promise<string> {
  await exchange(it, who, 'hi', `to ${who}`);
  const claim = await oneOut(it);
  assert.equal(await it.ledger.defer(claim, later(), why, how), true);
  return claim.reply.id;
}

async function next(it: Bench): Promise<OutClaim> {
  const claims: OutClaim[] = [];
  await until('a reply can be claimed', async () => {
    claims.push(...(await takeOut(it)));
    return claims.length > 0;
  });
  return claims[0]!;
}

/** Replies that wait for another attempt: their rows, and how a person moves them. */
export const deferredCases: readonly LedgerCase[] = [
  promise('a reply that waits for another try is tried at once when that is asked', async (it) => {
    const id = await failed(it, 'ann');
    await noneOut(it);
    assert.deepEqual(await tryOne(it, id), one);
    const claim = await next(it);
    assert.deepEqual([claim.reply.id, claim.attempt, claim.late], [id, 2, false]);
    await deliver(it, claim);
    await noneOut(it);
  }),
  promise('such a try counts as an attempt, and moves nothing along its schedule', async (it) => {
    const id = await failed(it, 'ann');
    for (let attempt = 2; attempt < 6; attempt++) {
      assert.deepEqual(await tryOne(it, id), one);
      const claim = await next(it);
      assert.deepEqual([claim.attempt, claim.attemptOfSchedule], [attempt, 1]);
      await it.ledger.defer(claim, later(), broken, hot);
    }
  }),
  promise('it keeps its place: what is behind it goes out after it', async (it) => {
    const id = await failed(it, 'ann');
    await exchange(it, 'ann', 'more', 'second');
    await tryOne(it, id);
    const claim = await next(it);
    assert.equal(claim.reply.id, id);
    await noneOut(it);
    await deliver(it, claim);
    assert.equal((await oneOut(it)).reply.text, 'second');
  }),
  promise('a parked one comes back marked late, beside its conversation', async (it) => {
    const id = await failed(it, 'ann', parked);
    assert.deepEqual(await tryOne(it, id), one);
    const claim = await next(it);
    assert.deepEqual([claim.reply.id, claim.attempt, claim.late], [id, 2, true]);
    await it.ledger.defer(claim, later(), broken, hot);
    assert.deepEqual(await tryOne(it, id), one);
    await deliver(it, await next(it));
    await noneOut(it);
  }),
  promise('one that is tried, can be tried, has arrived or is not known stays', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    const claim = await oneOut(it);
    const { id } = claim.reply;
    assert.deepEqual(await tryOne(it, id), none, 'it is being tried');
    await it.ledger.defer(claim, later(), broken, hot);
    assert.deepEqual(await tryOne(it, id), one);
    assert.deepEqual(await tryOne(it, id), none, 'it can be tried');
    const again = await next(it);
    assert.deepEqual([again.attempt, again.attemptOfSchedule], [2, 1]);
    await deliver(it, again);
    assert.deepEqual(await tryOne(it, id), none, 'it has arrived');
    assert.deepEqual(await tryOne(it, 'nobody'), none);
    assert.deepEqual(textsOut(await takeOut(it, 10)), ['b']);
  }),
  promise('a dead one stays dead', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const claim = await oneOut(it);
    await it.ledger.deadLetter(claim, broken);
    assert.deepEqual(await tryOne(it, claim.reply.id), none);
    await noneOut(it);
  }),
  promise('the timer and a person together offer it once', async (it) => {
    for (const ms of [0, 1, 2, 3, 5, 8, 13, 21, 34, 55]) {
      await exchange(it, 'ann', `${ms}`, 'a');
      const claim = await oneOut(it);
      const dueAt = Date.now() + ms;
      await it.ledger.defer(claim, dueAt, broken, hot);
      await Promise.all([tryOne(it, claim.reply.id), tryAll(it)]);
      const again = await next(it);
      assert.equal(again.attempt, 2);
      await until('its own time has come, too', () => Date.now() > dueAt + 5);
      await noneOut(it);
      await deliver(it, again);
    }
    await noneOut(it);
  }),
  promise('one that is forgotten meanwhile goes out no more, and holds up nothing', async (it) => {
    const id = await failed(it, 'ann');
    const whose = { kind: 'sender', channel: hook, sender: 'sender of ann' } as const;
    await Promise.all([tryOne(it, id), it.ledger.forget(whose)]);
    await noneOut(it);
    await exchange(it, 'ann', 'new', 'b');
    assert.equal((await oneOut(it)).reply.text, 'b');
  }),
  promise('they are counted by channel and reason', async (it) => {
    await failed(it, 'ann');
    await failed(it, 'bob', parked);
    await failed(it, 'cid', hot, refused);
    await accept(it, said('dan', 'hi', { channel: other }));
    await answer(it, await oneIn(it, other), 'to dan');
    await it.ledger.defer(await oneOut(it, other), later(), broken, hot);
    await exchange(it, 'eve', 'hi', 'never tried');
    const groups = await it.ledger.deferred.groups();
    const seen = groups.map(({ channel, failure: kind, status, count }) => {
      return `${channel} ${kind} ${status} ${count}`;
    });
    assert.deepEqual(seen.toSorted(), [
      'messenger_a:77 server_error 500 1',
      'webhook connect_failed null 1',
      'webhook server_error 500 2',
    ]);
    assert.equal(groups[0]!.count, 2);
    for (const { oldestAt, nextAt } of groups) {
      assert.ok(Math.abs(oldestAt - Date.now()) < patienceMs);
      assert.ok(nextAt > Date.now() && nextAt <= later());
    }
  }),
  promise('a group is moved in steps, and no other with it', async (it) => {
    for (const who of ['ann', 'bob', 'cid']) await failed(it, who);
    await failed(it, 'dan', hot, refused);
    const filter = { channel: 'webhook', failure: 'server_error', status: 500 } as const;
    assert.deepEqual(await tryAll(it, filter, 2), { kind: 'moved', moved: 2, more: true });
    assert.deepEqual(await tryAll(it, filter, 2), one);
    assert.deepEqual(await tryAll(it, filter, 2), none);
    assert.deepEqual(await tryAll(it, { channel: 'messenger_a' }), none);
    const claims = await takeOut(it, 10);
    assert.deepEqual(textsOut(claims).toSorted(), ['to ann', 'to bob', 'to cid']);
    await deliver(it, ...claims);
    assert.deepEqual(await tryAll(it), one);
  }),
  promise('of a group each is tried once, though it fails again', async (it) => {
    await failed(it, 'ann');
    const before = Date.now() + 1;
    const step = () => it.ledger.deferred.tryNow({ kind: 'all', filter: any, before }, 10);
    assert.deepEqual(await step(), one);
    await until('its next try is later', () => Date.now() > before);
    await it.ledger.defer(await next(it), later(), broken, hot);
    assert.deepEqual(await step(), none);
    await noneOut(it);
  }),
  promise('after its end nothing is moved', async (it) => {
    const id = await failed(it, 'ann');
    await it.ledger[Symbol.asyncDispose]();
    assert.deepEqual(await tryOne(it, id), { kind: 'storage_failed' });
  }),
  durably('after a start they are counted and moved as before', async (it) => {
    const [hotId, parkedId] = [await failed(it, 'ann'), await failed(it, 'bob', parked)];
    await it.reopen();
    it.ledger.serve([hook]);
    const [group] = await it.ledger.deferred.groups();
    assert.deepEqual(
      [group!.channel, group!.failure, group!.status, group!.count],
      [hook, 'server_error', 500, 2],
    );
    for (const id of [hotId, parkedId]) {
      assert.deepEqual(await tryOne(it, id), one);
      const claim = await next(it);
      assert.deepEqual([claim.reply.id, claim.attempt, claim.attemptOfSchedule], [id, 2, 1]);
      await deliver(it, claim);
    }
  }),
  durably('what was to be tried at once is so after a start, on the same schedule', async (it) => {
    const id = await failed(it, 'ann');
    assert.deepEqual(await tryOne(it, id), one);
    await it.reopen();
    it.ledger.serve([hook]);
    const claim = await next(it);
    assert.deepEqual([claim.reply.id, claim.attempt, claim.attemptOfSchedule], [id, 2, 1]);
  }),
  ...[2 * hour, 40 * 24 * hour].map((aheadMs) =>
    durably(`a clock that was ${aheadMs / hour} h ahead holds up no reply after a start`, (it) =>
      clockWasAhead(it, aheadMs),
    ),
  ),
];

/** One reply waits in its queue and one detached, both by schedule. Then the clock is corrected. */
async function clockWasAhead(it: ClockedBench, aheadMs: number): Promise<void> {
  it.shiftClock(aheadMs);
  const plan = async (who: string, afterMs: number, why: Failure, how = hot): Promise<string> => {
    await exchange(it, who, 'hi', `to ${who}`);
    const claim = await oneOut(it);
    await it.ledger.defer(claim, Date.now() + aheadMs + afterMs, why, how);
    return claim.reply.id;
  };
  const id = await plan('ann', 1_000, refused);
  await plan('bob', 1_000, failure('timeout'), parked);
  await plan('cid', hour, broken);
  await accept(it, said('ann', 'one more'));
  await answer(it, await oneIn(it), 'behind it');
  it.shiftClock(-aheadMs);
  await it.reopen();
  it.ledger.serve([hook]);
  const laterThan = async (ms: number): Promise<readonly string[]> => {
    const groups = await it.ledger.deferred.groups();
    const far = groups.filter(({ nextAt }) => nextAt > Date.now() + ms);
    return far.map((group) => group.failure);
  };
  await until('none lies too far ahead', async () => (await laterThan(hour)).length === 0);
  assert.deepEqual(await laterThan(10_000), ['server_error'], 'as its receiver asked');
  const texts: string[] = [];
  while (texts.length < 3) {
    const claim = await next(it);
    if (claim.reply.id === id) assert.equal(claim.attempt, 2);
    texts.push(claim.reply.text);
    await deliver(it, claim);
  }
  assert.ok(texts.indexOf('to ann') < texts.indexOf('behind it'), texts.join());
  assert.ok(texts.includes('to bob'));
}
