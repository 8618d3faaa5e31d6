/** After its end a ledger refuses every call, with a reason. */
import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { ConversationId } from '../../../src/domain/ids.ts';
import {
  accept,
  answer,
  effects,
  exchange,
  hook,
  ids,
  isSettled,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  other,
  promise,
  said,
  takeIn,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const why = failure('server_error');
const how = { park: false, possibleDuplicate: false };
const end = (it: Bench): Promise<void> => it.ledger[Symbol.asyncDispose]();

export const endingCases: readonly LedgerCase[] = [
  promise('after its end nothing is taken in or handed out, and no claim holds', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await accept(it, said('ann', 'one'), said('bob', 'two'));
    const [claim] = await takeIn(it, 1);
    const out = await oneOut(it);
    await end(it);
    const refusal = await it.ledger.accept([said('ann', 'late')]);
    assert.ok(refusal.kind === 'refused' && refusal.reason === 'shutting_down');
    await noneIn(it);
    await noneOut(it);
    assert.equal(await it.ledger.complete(claim!, effects(claim!, ['a'])), false);
    assert.equal(await it.ledger.deadLetter(claim!, why), false);
    assert.equal(await it.ledger.delivered(out), false);
    assert.equal(await it.ledger.defer(out, Date.now(), why, how), false);
    await it.ledger.release(claim!);
    assert.deepEqual(await it.ledger.notes(claim!, { kind: 'conversation' }), []);
    assert.deepEqual(await it.ledger.toolUses(claim!, 5), []);
    assert.deepEqual(await it.ledger.recall(claim!, 5), []);
    assert.deepEqual(await it.ledger.calls.earlierCalls(claim!), []);
    await end(it);
  }),
  promise('after its end nothing is written down for a person, who is told', async (it) => {
    await accept(it, said('ann', 'hi'));
    await end(it);
    const { ledger } = it;
    assert.equal(await ledger.replay(ids.message()), 'storage_failed');
    assert.equal(await ledger.discard(ids.reply()), 'storage_failed');
    const row = { at: 1, action: 'replay', target: {}, status: 200, reason: null } as const;
    assert.equal(await ledger.recordWrite(row), false);
    const talk = { channel: hook, conversation: 'ann' as ConversationId };
    await assert.rejects(ledger.forget({ kind: 'conversation', ...talk }), /closed/);
    await assert.rejects(ledger.clearNotes({ kind: 'conversation', ...talk }), /closed/);
    await assert.rejects(ledger.cursor(hook, 'offset'), /closed/);
  }),
  promise('after its end the backlog counts on, and what is served does not matter', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await accept(it, said('bob', 'two'));
    await end(it);
    it.ledger.serve([other]);
    assert.equal(it.ledger.backlog()[0]!.unroutableSince, null);
    assert.equal(it.ledger.unsettled(9).length, 2);
    const { inboxWaiting, outboxWaiting, commitsPending } = it.ledger.gauges();
    assert.deepEqual([inboxWaiting, outboxWaiting, commitsPending], [1, 1, 0]);
  }),
  promise('what is on its way when it ends still counts', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'two'));
    const [ann, bob] = await takeIn(it, 2);
    await answer(it, bob!, 'b');
    const out = await oneOut(it);
    const under = [
      it.ledger.complete(ann!, effects(ann!, ['a'])),
      it.ledger.defer(out, Date.now(), why, how),
    ];
    const accepting = it.ledger.accept([said('cid', 'three')]);
    await end(it);
    assert.deepEqual(await Promise.all(under), [true, true]);
    assert.equal((await accepting).kind, 'accepted');
    assert.equal(it.ledger.unsettled(9).length, 3);
    await noneIn(it);
    await noneOut(it);
  }),
  promise('who deletes while it ends is told that it may not be gone, or is done', async (it) => {
    for (let i = 0; i < 5; i++) await exchange(it, 'ann', `q${i}`, `a${i}`);
    const talk = { channel: hook, conversation: 'ann' as ConversationId };
    const forgotten = it.ledger.forget({ kind: 'conversation', ...talk }).catch(() => 'told');
    const replayed = it.ledger.replay(ids.reply());
    await end(it);
    await until('both are answered', async () => {
      return (await isSettled(forgotten)) && (await isSettled(replayed));
    });
  }),
  promise('a wake after the end finds nobody', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const out = await oneOut(it);
    let woken = 0;
    it.ledger.onReady(() => void woken++);
    const deferring = it.ledger.defer(out, Date.now(), why, how);
    await oneInOf(it);
    const before = woken;
    await end(it);
    await deferring;
    await isSettled(deferring);
    assert.equal(woken, before);
  }),
];

/** Claims something, so that its release at the end could wake a caller. */
async function oneInOf(it: Bench): Promise<void> {
  await accept(it, said('bob', 'hi'));
  await oneIn(it);
}
