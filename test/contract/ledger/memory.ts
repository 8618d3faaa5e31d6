import { historyBounds, noStarts } from '../../../src/domain/conversation.ts';
import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { OutClaim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  deliverAll,
  deliver,
  durably,
  effects,
  exchange,
  hook,
  isSettled,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  other,
  promise,
  said,
  settles,
  takeIn,
  takeOut,
  textsIn,
  textsOut,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const hour = 3_600_000;
/** Its receiver asks for an hour, so even a due time after a restart may lie ahead. */
const why = failure('server_error', { retryAfterMs: hour });
const cut = (at: number) => ({ reason: 'command', at }) as const;

/** The memory of a conversation, the cursor of a channel, and the data that outlives a stop. */
export const memoryCases: readonly LedgerCase[] = [
  promise('the first message of a conversation remembers nothing', async (it) => {
    await accept(it, said('ann', 'hi'));
    const { memory, message } = await oneIn(it);
    const session = { number: 1, startedAt: message.acceptedAt };
    assert.deepEqual(memory, {
      session,
      turns: [],
      windows: noStarts,
      previousAt: null,
      empty: true,
    });
  }),
  promise(
    'a receipt is safe at once when durable, else when the message is settled',
    async (it) => {
      const [receipt] = await accept(it, said('ann', 'hi'));
      const [{ safe }] = [receipt!];
      assert.equal(await isSettled(safe), it.ledger.durability.durable);
      await answer(it, await oneIn(it), 'a', 'b');
      await deliver(it, await oneOut(it));
      assert.equal(await isSettled(safe), it.ledger.durability.durable);
      await it.ledger.deadLetter(await oneOut(it), why);
      await settles(safe);
      await settles(receipt!.safe);
    },
  ),
  promise('a repeat is as safe as the first', async (it) => {
    await accept(it, said('ann', 'hi', { dedupeKey: 'k' }));
    const [again] = await accept(it, said('ann', 'hi', { dedupeKey: 'k' }));
    assert.equal(await isSettled(again!.safe), it.ledger.durability.durable);
    await answer(it, await oneIn(it));
    await settles(again!.safe);
  }),
  promise('a cursor moves with its batch', async (it) => {
    assert.equal(await it.ledger.cursor(hook, 'offset'), null);
    const cursor = { channel: hook, name: 'offset', value: '7' };
    await it.ledger.accept([said('ann', 'hi')], cursor);
    assert.equal(await it.ledger.cursor(hook, 'offset'), '7');
    const more = { ...cursor, name: 'people', value: 'ann' };
    await it.ledger.accept([], { ...cursor, value: '8' }, more);
    assert.equal(await it.ledger.cursor(hook, 'offset'), '8');
    assert.equal(await it.ledger.cursor(hook, 'people'), 'ann');
  }),
  promise('cursors are told apart by channel and name', async (it) => {
    await it.ledger.accept([], { channel: hook, name: 'a', value: '1' });
    await it.ledger.accept([], { channel: hook, name: 'b', value: '2' });
    await it.ledger.accept([], { channel: other, name: 'a', value: '3' });
    assert.equal(await it.ledger.cursor(hook, 'a'), '1');
    assert.equal(await it.ledger.cursor(hook, 'b'), '2');
    assert.equal(await it.ledger.cursor(other, 'a'), '3');
  }),
  durably('a turn sees the one before, and when its message was accepted', async (it) => {
    await accept(it, said('ann', 'one'));
    const first = await oneIn(it);
    await answer(it, first, 'a');
    await accept(it, said('ann', 'two'));
    const { memory } = await oneIn(it);
    const at = first.message.acceptedAt;
    assert.deepEqual(memory.turns, [{ at, text: 'one', reply: 'a', sensitivity: 'public' }]);
    assert.equal(memory.previousAt, at);
    assert.equal(memory.session.startedAt, at);
  }),
  durably('what is not to be remembered is not, but its time is', async (it) => {
    await accept(it, said('ann', 'one'));
    const first = await oneIn(it);
    await it.ledger.complete(first, effects(first, ['a'], { turn: null }));
    await accept(it, said('ann', 'two'));
    const { memory } = await oneIn(it);
    assert.deepEqual(memory.turns, []);
    assert.equal(memory.previousAt, first.message.acceptedAt);
  }),
  durably('a turn without a reply is remembered without one', async (it) => {
    await exchange(it, 'ann', 'one');
    assert.deepEqual(await history(it), ['one', null]);
  }),
  durably('conversations remember apart', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await accept(it, said('ann', 'x', { channel: other }), said('bob', 'y'));
    const [bob] = await takeIn(it, 1);
    const [there] = await takeIn(it, 1, other);
    assert.deepEqual([bob!.memory.turns, there!.memory.turns], [[], []]);
  }),
  durably('a buried message is remembered as its effects say', async (it) => {
    await accept(it, said('ann', 'one'));
    const claim = await oneIn(it);
    const turn = { at: 5, text: 'one', reply: null, sensitivity: 'public' } as const;
    await it.ledger.deadLetter(claim, why, effects(claim, ['sorry'], { turn }));
    assert.deepEqual(await history(it), ['one', null]);
  }),
  durably('one turn more than a window holds is remembered, also after a restart', async (it) => {
    const { turns } = historyBounds;
    for (let i = 1; i <= turns + 4; i++) await exchange(it, 'ann', `q${i}`, `a${i}`);
    const expected = Array.from({ length: turns + 1 }, (_, i) => [`q${i + 4}`, `a${i + 4}`]);
    assert.deepEqual(await history(it), expected.flat());
    await it.reopen();
    assert.equal((await oneIn(it)).memory.turns.length, turns + 1);
  }),
  durably('turns are remembered up to the one that is too much for a window', async (it) => {
    for (const letter of ['a', 'b', 'c', 'd']) {
      await exchange(it, 'ann', letter.repeat(7_000), 'ok');
    }
    const letters = (await history(it)).filter((text) => text !== 'ok').map((text) => text![0]);
    assert.deepEqual(letters, ['b', 'c', 'd']);
  }),
  durably('wider windows are read anew', async (it) => {
    for (let i = 1; i <= 60; i++) await exchange(it, 'ann', `q${i}`, `a${i}`);
    it.ledger.remember({ turns: 50, characters: 16_000 });
    await accept(it, said('ann', 'next'));
    assert.equal((await oneIn(it)).memory.turns.length, 51);
  }),
  durably('where windows were cut is kept with the turn, for each brain', async (it) => {
    const main = { brain: 'main', start: { after: 1, at: 7 } };
    const odd = { brain: 'größer "b"', start: { after: 2, at: 8 } };
    for (const window of [main, odd]) {
      await accept(it, said('ann', 'one'));
      const claim = await oneIn(it);
      await it.ledger.complete(claim, { ...effects(claim, ['a']), window });
    }
    await exchange(it, 'ann', 'two', 'b');
    const expected = new Map([main, odd].map(({ brain, start }) => [brain, start]));
    for (const isAgain of [false, true]) {
      if (isAgain) await it.reopen();
      else await accept(it, said('ann', 'three'));
      const { memory } = await oneIn(it);
      assert.deepEqual(memory.windows, expected);
      assert.equal(memory.turns.length, 3);
    }
  }),
  durably('a new session has windows of its own, also after a restart', async (it) => {
    await accept(it, said('ann', 'one'));
    const first = await oneIn(it);
    const window = { brain: 'main', start: { after: 1, at: 7 } };
    await it.ledger.complete(first, { ...effects(first, ['a']), window });
    await accept(it, said('ann', 'two'));
    const claim = await oneIn(it);
    await it.ledger.complete(claim, effects(claim, ['b'], { session: cut(4_711) }));
    await accept(it, said('ann', 'three'));
    assert.deepEqual((await oneIn(it)).memory.windows, noStarts);
    await it.reopen();
    assert.deepEqual((await oneIn(it)).memory.windows, noStarts);
  }),
  durably('a cut begins a new session, of which the turn is the first', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await accept(it, said('ann', 'two'));
    const claim = await oneIn(it);
    await it.ledger.complete(claim, effects(claim, ['b'], { session: cut(4_711) }));
    await accept(it, said('ann', 'three'));
    const { memory } = await oneIn(it);
    assert.deepEqual(memory.session, { number: 2, startedAt: 4_711 });
    assert.deepEqual(
      memory.turns.map(({ text }) => text),
      ['two'],
    );
  }),
  durably('history and session survive a restart', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await accept(it, said('ann', 'two'));
    const claim = await oneIn(it);
    await it.ledger.complete(claim, effects(claim, ['b'], { session: cut(4_711) }));
    await exchange(it, 'ann', 'three', 'c');
    await it.reopen();
    await accept(it, said('ann', 'four'));
    const { memory } = await oneIn(it);
    assert.deepEqual(memory.session, { number: 2, startedAt: 4_711 });
    assert.deepEqual(
      memory.turns.flatMap(({ text, reply }) => [text, reply]),
      ['two', 'b', 'three', 'c'],
    );
  }),
  durably('cursors and keys survive a restart', async (it) => {
    const cursor = { channel: hook, name: 'offset', value: '7' };
    const acceptance = await it.ledger.accept([said('ann', 'hi', { dedupeKey: 'k' })], cursor);
    assert.equal(acceptance.kind, 'accepted');
    await answer(it, await oneIn(it));
    await it.reopen();
    assert.equal(await it.ledger.cursor(hook, 'offset'), '7');
    const [again] = await accept(it, said('ann', 'hi', { dedupeKey: 'k' }));
    assert.equal(again!.duplicate, true);
    await noneIn(it);
  }),
  durably('messages that wait survive a restart, in order', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'x'), said('ann', 'two'));
    await accept(it, said('ann', 'three'));
    await it.reopen();
    assert.equal(it.ledger.gauges().inboxWaiting, 4);
    for (const text of ['one', 'two', 'three']) {
      const [claim] = await takeIn(it, 1);
      assert.equal(claim!.message.text, text);
      if (text === 'one') assert.deepEqual(textsIn(await takeIn(it, 5)), ['x']);
      await answer(it, claim!);
    }
  }),
  durably(
    'a message that never had a reply does not stop the next one after a restart',
    async (it) => {
      await exchange(it, 'ann', 'one');
      await it.reopen();
      await exchange(it, 'ann', 'two', 'a');
      assert.deepEqual(await history(it), ['one', null, 'two', 'a']);
    },
  ),
  durably('every character survives a restart', async (it) => {
    const odd = 'naïve 👩‍👩‍👧 \u0000 "q" \\ \n end';
    await accept(it, said(odd, odd, { sender: { id: odd, name: odd } }));
    await exchangeFor(it, odd);
    await accept(it, said(odd, `${odd}!`, { media: { type: null, reference: odd } }));
    await it.reopen();
    const [reply, { message, memory }] = [await oneOut(it), await oneIn(it)];
    assert.equal(reply.reply.text, odd);
    assert.deepEqual([message.conversation, message.text], [odd, `${odd}!`]);
    assert.deepEqual(message.media, { type: null, reference: odd });
    assert.deepEqual([memory.turns[0]!.text, memory.turns[0]!.reply], [odd, odd]);
  }),
  durably('what was claimed at an orderly stop comes again untouched', async (it) => {
    await exchange(it, 'ann', 'one', 'a', 'b');
    await accept(it, said('ann', 'two'));
    await oneIn(it);
    await oneOut(it);
    await it.reopen();
    const [message, reply] = [await oneIn(it), await oneOut(it)];
    assert.deepEqual([message.message.text, message.attempt], ['two', 1]);
    assert.deepEqual([reply.reply.text, reply.attempt, reply.possibleDuplicate], ['a', 1, false]);
    assert.deepEqual(message.memory.turns.length, 1);
  }),
  durably(
    'replies survive a restart, in order; what was settled does not come back',
    async (it) => {
      await exchange(it, 'ann', 'one', 'a', 'b', 'c');
      await deliver(it, await oneOut(it));
      await it.reopen();
      await noneIn(it);
      assert.deepEqual(await deliverAll(it), ['b', 'c']);
      await it.reopen();
      assert.deepEqual(it.ledger.backlog(), []);
    },
  ),
  durably('a deferral survives a restart: its number and its marks', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    const how = { park: false, possibleDuplicate: true };
    await it.ledger.defer(await oneOut(it), Date.now(), why, how);
    await it.reopen();
    const found = await eventually(it);
    assert.deepEqual([found.reply.text, found.attempt], ['a', 2]);
    assert.deepEqual([found.possibleDuplicate, found.late], [true, false]);
    await noneOut(it);
  }),
  durably('a time that has not come survives a restart', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    const how = { park: false, possibleDuplicate: false };
    await it.ledger.defer(await oneOut(it), Date.now() + hour, why, how);
    await it.reopen();
    await noneOut(it);
    assert.equal(it.ledger.gauges().outboxDeferred, 1);
  }),
  durably('a parked reply survives a restart, out of the way', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await exchange(it, 'bob', 'hi', 'c', 'd');
    const how = { park: true, possibleDuplicate: false };
    const [ann, bob] = await takeOut(it, 2);
    await it.ledger.defer(ann!, Date.now(), why, how);
    await it.ledger.defer(bob!, Date.now() + hour, why, how);
    await it.reopen();
    const found = [await eventually(it), await eventually(it), await eventually(it)];
    const late = found.filter((claim) => claim.late);
    assert.deepEqual(textsOut(late), ['a']);
    assert.equal(late[0]!.attempt, 2);
    assert.deepEqual(textsOut(found).sort(), ['a', 'b', 'd']);
    assert.equal(it.ledger.gauges().outboxDeferred, 1);
  }),
  durably('dead letters are kept over a restart and never tried', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await it.ledger.deadLetter(await oneOut(it), failure('gone'));
    await accept(it, said('ann', 'more'));
    await it.ledger.deadLetter(await oneIn(it), failure('fault'));
    await it.reopen();
    assert.equal(it.ledger.gauges().deadLetters, 2);
    await noneIn(it);
    await noneOut(it);
  }),
  durably('a restart wakes whoever then listens to what is there', async (it) => {
    await accept(it, said('ann', 'hi'));
    await it.reopen();
    const woken = new Set<string>();
    it.ledger.onReady((box, channel) => woken.add(`${box} ${channel}`));
    await accept(it, said('bob', 'hi'));
    await until('a wake', () => woken.has(`in ${hook}`));
    assert.equal((await takeIn(it, 5)).length, 2);
  }),
];

/** Answers the one waiting message with this text. */
async function exchangeFor(it: Bench, text: string): Promise<void> {
  await answer(it, await oneIn(it), text);
}

/** The texts in the context of the conversation's next turn. */
async function history(it: Bench): Promise<readonly (string | null)[]> {
  await accept(it, said('ann', 'next'));
  const { memory } = await oneIn(it);
  return memory.turns.flatMap(({ text, reply }) => [text, reply]);
}

async function eventually(it: Bench): Promise<OutClaim> {
  const found: OutClaim[] = [];
  await until('the reply can be claimed', async () => {
    found.push(...(await takeOut(it, 1)));
    return found.length > 0;
  });
  assert.equal(textsOut(found).length, 1);
  return found[0]!;
}
