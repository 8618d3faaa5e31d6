import assert from 'node:assert/strict';
import type { ConversationId } from '../../../src/domain/ids.ts';
import type { ConversationKey } from '../../../src/domain/story.ts';
import { takeoverMs } from '../../../src/domain/takeover.ts';
import type { TakeoverMessage, Effects, InClaim } from '../../../src/ledger/ledger.ts';
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
  promise,
  said,
  takeIn,
  textsIn,
  turns,
  until,
  type ClockedBench,
  type HasLedger,
  type LedgerCase,
} from './kit.ts';

const ann: ConversationKey = { channel: hook, conversation: 'ann' as ConversationId };

/** An operator's answer: the last message has it, the earlier ones have none. */
export function byHand(text: string): (one: TakeoverMessage, isLast: boolean) => Effects {
  return (one, isLast) => effects(one as InClaim, isLast ? [text] : []);
}

export async function hold(it: HasLedger): Promise<void> {
  assert.equal(typeof (await it.ledger.takeovers.hold(ann)), 'object');
}

async function answered(it: HasLedger, upTo: string | null, text: string): Promise<number> {
  const result = await it.ledger.takeovers.answer(ann, upTo, byHand(text));
  assert.equal(result.kind, 'answered');
  return result.kind === 'answered' ? result.messages.length : 0;
}

async function waiting(it: HasLedger): Promise<readonly string[]> {
  return (await it.ledger.takeovers.waiting(ann)).map(({ text }) => text);
}

async function sentNext(it: HasLedger): Promise<string> {
  const claim = await oneOut(it);
  await deliver(it, claim);
  return claim.reply.text;
}

/** No model answers during a takeover, and each message has one answer. */
export const byHandCases: readonly LedgerCase[] = [
  promise('a held conversation is handed out to nobody, and others go on', async (it) => {
    await hold(it);
    await accept(it, said('ann', 'one'), said('bob', 'hello'));
    assert.equal((await oneIn(it)).message.text, 'hello');
    await noneIn(it);
    assert.deepEqual(await waiting(it), ['one']);
    assert.equal(it.ledger.gauges().held, 1);
    assert.deepEqual(
      it.ledger.takeovers.held().map(({ conversation }) => conversation),
      ['ann'],
    );
  }),
  promise('what was offered when it was held can no longer be taken', async (it) => {
    await accept(it, said('ann', 'one'));
    await hold(it);
    await noneIn(it);
    assert.equal(await it.ledger.takeovers.giveBack(ann), 'done');
    assert.equal((await oneIn(it)).message.text, 'one');
  }),
  promise('what is at work loses its claim, and waits first', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    const claim = await oneIn(it);
    await hold(it);
    assert.equal(claim.stop.signal.aborted, true);
    assert.equal(await it.ledger.complete(claim, effects(claim, ['late'])), false);
    await noneOut(it);
    assert.deepEqual(await waiting(it), ['one', 'two']);
    assert.equal(await it.ledger.takeovers.giveBack(ann), 'done');
    for (const text of ['one', 'two']) {
      const again = await oneIn(it);
      assert.equal(again.message.text, text);
      await answer(it, again);
    }
  }),
  promise('a turn whose commit was first stays, and the hold begins behind it', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    const claim = await oneIn(it);
    const [done] = await Promise.all([
      it.ledger.complete(claim, effects(claim, ['by the model'])),
      hold(it),
    ]);
    assert.equal(done, true);
    assert.deepEqual(await waiting(it), ['two']);
    assert.equal(await sentNext(it), 'by the model');
    await noneIn(it);
  }),
  promise('an answer ends the named message and those before it', async (it) => {
    await hold(it);
    const receipts = await accept(it, ...['one', 'two', 'three'].map((text) => said('ann', text)));
    assert.equal(await answered(it, receipts[1]!.id, 'by hand'), 2);
    assert.deepEqual(await waiting(it), ['three']);
    const claim = await oneOut(it);
    assert.deepEqual([claim.reply.text, claim.reply.inReplyTo], ['by hand', receipts[1]!.id]);
    await deliver(it, claim);
    assert.equal(await it.ledger.takeovers.giveBack(ann), 'done');
    assert.equal((await oneIn(it)).message.text, 'three');
    await noneIn(it);
  }),
  promise('without a name the oldest alone is answered', async (it) => {
    await hold(it);
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    assert.equal(await answered(it, null, 'by hand'), 1);
    assert.deepEqual(await waiting(it), ['two']);
    assert.equal(await sentNext(it), 'by hand');
  }),
  promise('what cannot be answered is named', async (it) => {
    const asked = async (upTo: string | null): Promise<string> =>
      (await it.ledger.takeovers.answer(ann, upTo, byHand('x'))).kind;
    assert.equal(await asked(null), 'not_held');
    assert.equal(await it.ledger.takeovers.giveBack(ann), 'not_held');
    await hold(it);
    assert.equal(await asked(null), 'nothing_to_answer');
    const [receipt] = await accept(it, said('ann', 'one'));
    await answered(it, receipt!.id, 'by hand');
    assert.equal(await asked(receipt!.id), 'answered_already');
    assert.equal(await asked(null), 'nothing_to_answer');
    assert.equal(await sentNext(it), 'by hand');
    await noneOut(it);
  }),
  promise('of two answers to one message one goes out', async (it) => {
    await hold(it);
    const [receipt] = await accept(it, said('ann', 'one'));
    const kinds = await Promise.all(
      ['a', 'b'].map((text) => it.ledger.takeovers.answer(ann, receipt!.id, byHand(text))),
    );
    assert.deepEqual(kinds.map(({ kind }) => kind).toSorted(), ['answered', 'answered_already']);
    await sentNext(it);
    await noneOut(it);
  }),
  promise('a hold that nobody touches ends by itself', async (it) => {
    await hold(it);
    await accept(it, said('ann', 'one'));
    it.shiftClock(takeoverMs / 2);
    await answered(it, null, 'by hand');
    await sentNext(it);
    await accept(it, said('ann', 'two'));
    it.shiftClock(takeoverMs / 2 + 1);
    // The answer renewed the takeover.
    await hold(it);
    await noneIn(it);
    assert.deepEqual(await waiting(it), ['two']);
  }),
  promise('what was accepted in its time is settled: nothing of it is left', async (it) => {
    await hold(it);
    const receipts = await accept(it, said('ann', 'one'), said('ann', 'two'));
    await answered(it, receipts[1]!.id, 'by hand');
    await sentNext(it);
    const { inboxWaiting, inboxClaimed, outboxWaiting, bytesHeld } = it.ledger.gauges();
    assert.deepEqual([inboxWaiting, inboxClaimed, outboxWaiting, bytesHeld], [0, 0, 0, 0]);
    assert.deepEqual(it.ledger.backlog(), []);
  }),
  promise('a conversation that is deleted is held no more', async (it) => {
    await hold(it);
    await accept(it, said('ann', 'one'));
    assert.equal(await it.ledger.forget({ kind: 'conversation', ...ann }), 1);
    assert.equal(it.ledger.takeovers.of(ann), null);
    await accept(it, said('ann', 'two'));
    assert.equal((await oneIn(it)).message.text, 'two');
  }),
  durably('the history has the answer, as that of any turn', async (it) => {
    await exchange(it, 'ann', 'zero', 'to zero');
    await sentNext(it);
    await hold(it);
    const receipts = await accept(it, said('ann', 'one'), said('ann', 'two'));
    await answered(it, receipts[1]!.id, 'by hand');
    await sentNext(it);
    await accept(it, said('ann', 'three'));
    assert.equal(await it.ledger.takeovers.giveBack(ann), 'done');
    const remembered = (await oneIn(it)).memory.turns.map(({ text, reply }) => [text, reply]);
    assert.deepEqual(remembered, [
      ['zero', 'to zero'],
      ['one', null],
      ['two', 'by hand'],
    ]);
  }),
  durably('a hold outlives the process, and what waits with it', async (it) => {
    await accept(it, said('ann', 'one'));
    await hold(it);
    const before = it.ledger.takeovers.of(ann);
    await it.reopen();
    it.ledger.serve([hook]);
    assert.deepEqual(
      [it.ledger.takeovers.of(ann)?.since, it.ledger.takeovers.of(ann)?.untilAt],
      [before?.since, before?.untilAt],
    );
    await noneIn(it);
    assert.deepEqual(await waiting(it), ['one']);
    assert.equal(await answered(it, null, 'by hand'), 1);
    assert.equal(await sentNext(it), 'by hand');
  }),
  durably('a clock that was ahead holds none longer than an hour after a start', async (it) => {
    it.shiftClock(2 * takeoverMs);
    await accept(it, said('ann', 'first'));
    await hold(it);
    it.shiftClock(-2 * takeoverMs);
    for (let starts = 0; starts < 2; starts++) {
      await it.reopen();
      const [found] = it.ledger.takeovers.held();
      assert.ok(found!.untilAt <= Date.now() + takeoverMs, String(found!.untilAt - Date.now()));
    }
  }),
  durably('one that has ended while nobody ran is none any more', async (it) => {
    await hold(it);
    await accept(it, said('ann', 'one'));
    it.shiftClock(takeoverMs + 1);
    await it.reopen();
    assert.equal(it.ledger.gauges().held, 0);
    await until('it is offered', async () => (await takeIn(it)).length === 1);
  }),
  promise('taken and given back against turns: one answer each, none lost', (it) => {
    return raceByHand(it, 10);
  }),
];

/** Turns and operators race; each message gets one answer, by a model or an operator. */
export async function raceByHand(it: ClockedBench, rounds: number): Promise<void> {
  const sent = new Map<string, number>();
  const due: string[] = [];
  const over = new AbortController();
  const work = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (const claim of await takeIn(it, 5)) {
        // A turn ends before, during or after the start of the takeover.
        if (Math.random() < 0.5) await turns(Math.random() * 3);
        else await turns(Math.random() * 1_000);
        await it.ledger.complete(claim, effects(claim, [`model: ${claim.message.text}`]));
      }
      for (const claim of await it.ledger.claim('out', hook, 50)) {
        const { inReplyTo } = claim.reply;
        sent.set(inReplyTo, (sent.get(inReplyTo) ?? 0) + 1);
        await it.ledger.delivered(claim);
      }
      await turns(1);
    }
  };
  const working = Promise.all([work(), work()]);
  for (let round = 0; round < rounds; round++) {
    const [receipt] = await accept(it, said('ann', `message ${round}`));
    due.push(receipt!.id);
    await turns(Math.random() * 4);
    await hold(it);
    if (Math.random() < 0.7) {
      const result = await it.ledger.takeovers.answer(ann, receipt!.id, byHand(`hand: ${round}`));
      assert.ok(['answered', 'answered_already'].includes(result.kind), result.kind);
      // All earlier waiting messages ended with it.
      if (result.kind === 'answered') {
        for (const id of result.messages.slice(0, -1)) sent.set(id, (sent.get(id) ?? 0) + 1);
      }
    }
    await it.ledger.takeovers.giveBack(ann);
  }
  await until('all are answered', () => due.every((id) => sent.has(id)));
  over.abort();
  await working;
  assert.deepEqual(textsIn(await takeIn(it)), []);
  await noneOut(it);
  assert.deepEqual(
    due.filter((id) => sent.get(id) !== 1),
    [],
    'one answer each',
  );
}
