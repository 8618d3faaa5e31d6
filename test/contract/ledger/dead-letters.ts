import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { ReplyId } from '../../../src/domain/ids.ts';
import type { InClaim, OutClaim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  deliver,
  deliverAll,
  durably,
  effects,
  exchange,
  hook,
  ids,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  promise,
  replyTo,
  said,
  takeOut,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const why = failure('server_error');
const hot = { park: false, possibleDuplicate: false };
const deadLetters = (it: Bench): number => it.ledger.gauges().deadLetters;

/** A person may retry a dead letter, or delete it. */
export const deadLetterCases: readonly LedgerCase[] = [
  promise('a form that keeps no dead letters says so', async (it) => {
    const expected = it.ledger.durability.durable ? 'not_found' : 'not_kept';
    assert.equal(await it.ledger.replay(ids.reply()), expected);
    assert.equal(await it.ledger.discard(ids.message()), expected);
  }),
  durably('what is no dead letter is neither replayed nor discarded', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const out = await oneOut(it);
    for (const id of [out.reply.id, out.reply.inReplyTo, 'nonsense', '']) {
      assert.equal(await it.ledger.replay(id), 'not_found', id);
      assert.equal(await it.ledger.discard(id), 'not_found', id);
    }
    await deliver(it, out);
    assert.equal(await it.ledger.replay(out.reply.id), 'not_found');
  }),
  durably('a reply comes back with its id, marked late, at the end of its lane', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b', 'c');
    const dead = await oneOut(it);
    await it.ledger.defer(dead, Date.now(), why, hot);
    await it.ledger.deadLetter(await next(it), why);
    assert.equal(deadLetters(it), 1);
    assert.equal(await it.ledger.replay(dead.reply.id), 'done');
    assert.equal(deadLetters(it), 0);
    assert.equal(await it.ledger.replay(dead.reply.id), 'not_found');
    for (const text of ['b', 'c']) {
      const out = await oneOut(it);
      assert.deepEqual([out.reply.text, out.late], [text, false]);
      await deliver(it, out);
    }
    const again = await oneOut(it);
    assert.deepEqual(again.reply, dead.reply);
    assert.deepEqual([again.attempt, again.attemptOfSchedule, again.late], [3, 1, true]);
    await deliver(it, again);
    assert.deepEqual(it.ledger.backlog(), []);
  }),
  durably('a reply that is back is one after a restart, too, in its lane', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const dead = await oneOut(it);
    await it.ledger.deadLetter(dead, why);
    await it.reopen();
    assert.equal(deadLetters(it), 1);
    await exchange(it, 'ann', 'more', 'b');
    assert.equal(await it.ledger.replay(dead.reply.id), 'done');
    await it.reopen();
    assert.deepEqual([deadLetters(it), it.ledger.gauges().outboxWaiting], [0, 2]);
    await deliver(it, await oneOut(it));
    const again = await oneOut(it);
    assert.deepEqual([again.attempt, again.attemptOfSchedule, again.late], [2, 1, true]);
    await it.ledger.defer(again, Date.now(), why, hot);
    await exchange(it, 'ann', 'and more', 'c');
    await it.reopen();
    const third = await next(it);
    assert.deepEqual([third.reply.text, third.attemptOfSchedule, third.late], ['a', 2, true]);
    await noneOut(it);
  }),
  durably('the parts of a reply that died together come back together, in order', async (it) => {
    await accept(it, said('ann', 'hi'));
    const claim = await oneIn(it);
    const whole = await split(it, claim, 'a', 'b', 'c');
    await deliver(it, await oneOut(it));
    await it.ledger.deadLetter(await oneOut(it), why);
    assert.equal(deadLetters(it), 1);
    await it.reopen();
    assert.equal(deadLetters(it), 1);
    assert.equal(await it.ledger.replay(`${whole}-01`), 'not_found', 'a part alone is none');
    assert.equal(await it.ledger.replay(whole), 'done');
    const parts: [string, number, boolean][] = [];
    for (let part = 0; part < 2; part++) {
      const out = await oneOut(it);
      parts.push([out.reply.text, out.attempt, out.late]);
      await deliver(it, out);
    }
    assert.deepEqual(parts, [
      ['b', 2, true],
      ['c', 1, true],
    ]);
    assert.equal(deadLetters(it), 0);
  }),
  promise('each reply to a message is a dead letter of its own', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    for (const times of [1, 2]) {
      await it.ledger.deadLetter(await oneOut(it), why);
      assert.equal(deadLetters(it), times);
    }
  }),
  promise('parts that died at different times are one dead letter, others are not', async (it) => {
    await dieApart(it);
    assert.equal(deadLetters(it), 1);
    await dieApart(it);
    assert.equal(deadLetters(it), 2);
  }),
  durably('parts that died at different times come back together', async (it) => {
    const whole = await dieApart(it);
    assert.equal(await it.ledger.replay(whole), 'done');
    assert.equal(deadLetters(it), 0);
    assert.deepEqual(await deliverAll(it), ['a', 'b']);
  }),
  durably('a message runs again as of now, at the end of its lane', async (it) => {
    await accept(it, said('ann', 'one'));
    const dead = await oneIn(it);
    await it.ledger.deadLetter(dead, failure('fault'), effects(dead, ['sorry']));
    await accept(it, said('ann', 'two'));
    const { id, acceptedAt } = dead.message;
    await until('the clock has moved', () => Date.now() > acceptedAt);
    assert.equal(await it.ledger.replay(id), 'done');
    assert.equal(deadLetters(it), 0);
    const two = await oneIn(it);
    assert.equal(two.message.text, 'two');
    await answer(it, two, 'b');
    await it.reopen();
    const again = await oneIn(it);
    assert.deepEqual([again.message.id, again.message.text, again.attempt], [id, 'one', 1]);
    assert.ok(again.message.acceptedAt > acceptedAt);
    const { acceptedAt: _, ...facts } = dead.message;
    const { acceptedAt: __, ...now } = again.message;
    assert.deepEqual(now, facts);
    assert.deepEqual(heard(again), ['two'], 'the turn that its burial left is gone');
    await answer(it, again, 'a');
    assert.deepEqual(await deliverAll(it), ['sorry', 'b', 'a']);
    await accept(it, said('ann', 'three'));
    assert.deepEqual(heard(await oneIn(it)), ['two', 'one']);
  }),
  durably(
    'a message keeps its route in all its lives, and its chat its other names',
    async (it) => {
      const route = {
        number: 3,
        brain: 'coder \0 \uE000',
        matched: [{ key: 'chat' as const, value: '-100' }],
      };
      const kept = { route, chatAliases: ['-7'] };
      const [receipt] = await accept(it, said('ann', 'one', kept));
      const { id } = receipt!;
      const routed = async (): Promise<InClaim> => {
        const claim = await oneIn(it);
        const { chatAliases } = claim.message;
        assert.deepEqual({ route: claim.message.route, chatAliases }, kept);
        return claim;
      };
      await it.ledger.previews.keep(await routed(), 'a growing reply');
      await it.reopen();
      const where = { channel: hook, conversation: said('ann', '').conversation };
      await it.ledger.takeovers.hold(where);
      assert.deepEqual(
        (await it.ledger.takeovers.waiting(where)).map((one) => one.id),
        [id],
      );
      await it.ledger.takeovers.giveBack(where);
      await it.ledger.deadLetter(await routed(), failure('fault'));
      assert.equal(await it.ledger.replay(id), 'done');
      await it.ledger.release(await routed());
      await it.reopen();
      await answer(it, await routed());
    },
  ),
  durably('who was at work meanwhile does not bring the buried turn back', async (it) => {
    await accept(it, said('ann', 'one'));
    const dead = await oneIn(it);
    await it.ledger.deadLetter(dead, failure('fault'), effects(dead, []));
    await accept(it, said('ann', 'two'));
    const two = await oneIn(it);
    assert.deepEqual(heard(two), ['one']);
    assert.equal(await it.ledger.replay(dead.message.id), 'done');
    await answer(it, two, 'b');
    const again = await oneIn(it);
    assert.deepEqual([again.message.text, heard(again)], ['one', ['two']]);
  }),
  durably(
    'what is back after the last message that is accepted is worked all the same',
    async (it) => {
      await accept(it, said('ann', 'one'));
      const dead = await oneIn(it);
      await it.ledger.deadLetter(dead, why);
      it.ledger.closeIntake();
      assert.equal(await it.ledger.replay(dead.message.id), 'done');
      await answer(it, await oneIn(it), 'a');
      assert.deepEqual(await deliverAll(it), ['a']);
    },
  ),
  durably('what showed a reply to it before is nothing to a message that is back', async (it) => {
    const text = 'back\\slash, "preview":"[1]"} \0 and ,"preview":"[2]"}';
    for (const preview of ['[501,7]', '"quoted\\"', null]) {
      await accept(it, said('ann', text));
      const dead = await oneIn(it);
      if (preview !== null) assert.equal(await it.ledger.previews.keep(dead, preview), true);
      await it.ledger.deadLetter(dead, why);
      await it.ledger.replay(dead.message.id);
      const again = await oneIn(it);
      assert.deepEqual([again.message.preview, again.message.text], [undefined, text]);
      await answer(it, again, 'a');
    }
  }),
  durably('a message that is back is still known by its key', async (it) => {
    await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    const dead = await oneIn(it);
    await it.ledger.deadLetter(dead, why);
    await it.ledger.replay(dead.message.id);
    const [again] = await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    assert.deepEqual([again!.id, again!.duplicate], [dead.message.id, true]);
  }),
  durably('what is discarded is gone for good', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const out = await oneOut(it);
    await it.ledger.deadLetter(out, why);
    await accept(it, said('ann', 'more'));
    const claim = await oneIn(it);
    await it.ledger.deadLetter(claim, why);
    assert.equal(deadLetters(it), 2);
    for (const id of [out.reply.id, claim.message.id]) {
      assert.equal(await it.ledger.discard(id), 'done');
      assert.equal(await it.ledger.discard(id), 'not_found');
      assert.equal(await it.ledger.replay(id), 'not_found');
    }
    assert.equal(deadLetters(it), 0);
    await it.reopen();
    assert.equal(deadLetters(it), 0);
    await noneIn(it);
    await noneOut(it);
    await exchange(it, 'ann', 'on', 'b');
    assert.deepEqual(await deliverAll(it), ['b']);
  }),
];

const heard = ({ memory }: InClaim): readonly string[] => memory.turns.map(({ text }) => text);

/** Completes a claim with one reply in several parts. @returns the id of the whole reply */
async function split(it: Bench, claim: InClaim, ...texts: string[]): Promise<string> {
  const whole = replyTo(claim, '');
  const replies = texts.map((text, part) => {
    return { ...whole, id: `${whole.id}-0${part}` as ReplyId, text };
  });
  await it.ledger.complete(claim, { ...effects(claim, []), replies });
  return whole.id;
}

/** A reply of two parts that die one after the other. @returns the id of the whole reply */
async function dieApart(it: Bench): Promise<string> {
  await accept(it, said('ann', 'hi'));
  const whole = await split(it, await oneIn(it), 'a', 'b');
  await it.ledger.defer(await oneOut(it), Date.now(), why, { ...hot, park: true });
  const claims: OutClaim[] = [];
  await until('both', async () => claims.push(...(await takeOut(it, 2))) === 2);
  for (const claim of claims) await it.ledger.deadLetter(claim, why);
  return whole;
}

async function next(it: Bench): Promise<OutClaim> {
  const found: OutClaim[] = [];
  await until('the reply can be claimed', async () => {
    return found.push(...(await takeOut(it, 1))) > 0;
  });
  return found[0]!;
}
