import assert from 'node:assert/strict';
import { failure } from '../../../src/domain/failure.ts';
import type { ConversationId } from '../../../src/domain/ids.ts';
import type { Inbound } from '../../../src/domain/message.ts';
import type { MessageOwner } from '../../../src/domain/story.ts';
import type { OutClaim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  deliverAll,
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

const why = failure('server_error');
const later = (): number => Date.now() + 3_600_000;
const hot = { park: false, possibleDuplicate: false };
const parked = { park: true, possibleDuplicate: false };
const talk = (conversation: string): MessageOwner => ({
  kind: 'conversation',
  channel: hook,
  conversation: conversation as ConversationId,
});
const person = (sender: string): MessageOwner => ({ kind: 'sender', channel: hook, sender });
/** A person in the room that several share. */
const inRoom = (who: string, text: string, more: Partial<Inbound> = {}): Inbound =>
  said('room', text, { sender: { id: who, name: null }, ...more });

/** Deletes messages everywhere, even those waiting and in work. */
export const forgettingCases: readonly LedgerCase[] = [
  promise('what nobody said is not forgotten', async (it) => {
    assert.equal(await it.ledger.forget(talk('ann')), 0);
    assert.equal(await it.ledger.forget(person('ann')), 0);
  }),
  promise('messages of a conversation that wait are gone, others are not', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'x'), said('ann', 'two'));
    await accept(it, said('ann', 'elsewhere', { channel: other }));
    assert.equal(await it.ledger.forget(talk('ann')), 2);
    assert.deepEqual(textsIn(await takeIn(it, 5)), ['x']);
    assert.deepEqual(textsIn(await takeIn(it, 5, other)), ['elsewhere']);
    assert.equal(it.ledger.gauges().inboxWaiting, 0);
  }),
  promise('a claim on what is forgotten is lost, and its end changes nothing', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'hi'), said('cid', 'hi'));
    const claims = await takeIn(it, 3);
    await answer(it, claims[1]!, 'b');
    await answer(it, claims[2]!, 'c');
    const outs = await takeOut(it, 2);
    for (const who of ['ann', 'bob', 'cid']) await it.ledger.forget(talk(who));
    assert.equal(await it.ledger.complete(claims[0]!, effects(claims[0]!, ['a'])), false);
    assert.equal(await it.ledger.deadLetter(claims[0]!, why), false);
    assert.equal(await it.ledger.delivered(outs[0]!), false);
    assert.equal(await it.ledger.defer(outs[0]!, Date.now(), why, hot), false);
    assert.equal(await it.ledger.deadLetter(outs[1]!, why), false);
    await it.ledger.release(claims[0]!);
    await noneIn(it);
    await noneOut(it);
    assertEmpty(it);
  }),
  promise('work on what is forgotten is stopped, and no other', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'hi'), said('cid', 'hi'));
    const claims = await takeIn(it, 3);
    await answer(it, claims[2]!, 'c');
    const reply = await oneOut(it);
    const stopped = (): boolean[] => [...claims, reply].map(({ stop }) => stop.stopped);
    await it.ledger.forget(talk('ann'));
    assert.deepEqual(stopped(), [true, false, false, false]);
    await it.ledger.forget(talk('cid'));
    assert.deepEqual(stopped(), [true, false, false, true]);
    await answer(it, claims[1]!, 'b');
    assert.equal(claims[1]!.stop.stopped, false);
  }),
  promise(
    'replies are gone whether they wait, are deferred, parked or on their way',
    async (it) => {
      await exchange(it, 'ann', 'hi', 'parked, waits', 'parked, on its way', 'deferred', 'waits');
      await it.ledger.defer(await oneOut(it), later(), why, parked);
      await it.ledger.defer(await oneOut(it), Date.now(), why, parked);
      const both: OutClaim[] = [];
      await until('its time comes', async () => both.push(...(await takeOut(it, 5))) === 2);
      const inOrder = both.toSorted((a, b) => (a.reply.text < b.reply.text ? -1 : 1));
      assert.deepEqual(textsOut(inOrder), ['deferred', 'parked, on its way']);
      const [deferred, tried] = inOrder;
      await it.ledger.defer(deferred!, later(), why, hot);
      await exchange(it, 'bob', 'hi', 'stays');
      await it.ledger.forget(talk('ann'));
      assert.equal(it.ledger.gauges().outboxDeferred, 0);
      assert.deepEqual(await deliverAll(it), ['stays']);
      assert.equal(await it.ledger.delivered(tried!), false);
      assertEmpty(it);
    },
  ),
  promise('a turn that is being written down leaves nothing behind', async (it) => {
    await accept(it, said('ann', 'one'), said('bob', 'x'));
    const [ann, bob] = await takeIn(it, 2);
    const written = it.ledger.complete(ann!, effects(ann!, ['a']));
    const forgotten = it.ledger.forget(talk('ann'));
    await accept(it, said('ann', 'two'));
    await Promise.all([written, forgotten]);
    await noneOut(it);
    const two = await oneIn(it);
    assert.deepEqual([two.message.text, two.memory.turns], ['two', []]);
    await answer(it, two, 'b');
    await answer(it, bob!, 'x');
    assert.deepEqual(await deliverAll(it), ['b', 'x']);
    assertEmpty(it);
  }),
  promise('a delivery that is being written down leaves nothing behind', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await exchange(it, 'bob', 'hi', 'c', 'd');
    const [ann, bob] = await takeOut(it, 2);
    const ends = [it.ledger.delivered(ann!), it.ledger.defer(bob!, Date.now(), why, parked)];
    const forgotten = [it.ledger.forget(talk('ann')), it.ledger.forget(talk('bob'))];
    await Promise.all([...ends, ...forgotten]);
    await noneOut(it);
    assertEmpty(it);
    await exchange(it, 'ann', 'on', 'e');
    await exchange(it, 'bob', 'on', 'f');
    assert.deepEqual(await deliverAll(it), ['e', 'f']);
  }),
  promise('a message that is being written down is not worked', async (it) => {
    const accepting = it.ledger.accept([said('ann', 'one')]);
    await it.ledger.forget(talk('ann'));
    await accepting;
    await noneIn(it);
    assertEmpty(it);
  }),
  promise(
    'what is forgotten is settled, and makes room',
    async (it) => {
      const [receipt] = await accept(it, said('ann', 'one'), said('bob', 'x'));
      assert.equal(it.ledger.room().messages, 0);
      await it.ledger.forget(talk('ann'));
      await settles(receipt!.safe);
      assert.equal(it.ledger.room().messages, 1);
      await accept(it, said('cid', 'y'));
    },
    { messagesMax: 2 },
  ),
  promise(
    'who waits for room is told',
    async (it) => {
      await accept(it, said('ann', 'one'));
      const room = it.ledger.whenRoom(new AbortController().signal);
      assert.equal(await isSettled(room), false);
      await it.ledger.forget(talk('ann'));
      await settles(room);
    },
    { messagesMax: 1 },
  ),
  promise('one sender is forgotten among others, whose order stays', async (it) => {
    await accept(
      it,
      inRoom('ann', '1'),
      inRoom('bob', '2'),
      inRoom('ann', '3'),
      inRoom('cid', '4'),
    );
    await accept(it, said('home', '5', { sender: { id: 'ann', name: null } }));
    await accept(it, inRoom('ann', 'elsewhere', { channel: other }));
    assert.equal(await it.ledger.forget(person('ann')), 3);
    for (const text of ['2', '4']) {
      const claim = await oneIn(it);
      assert.equal(claim.message.text, text);
      await answer(it, claim, `to ${text}`);
    }
    assert.deepEqual(await deliverAll(it), ['to 2', 'to 4']);
    assert.equal((await takeIn(it, 5, other)).length, 1);
  }),
  promise('replies to a sender go, those to others stay', async (it) => {
    await accept(it, inRoom('ann', '1'), inRoom('bob', '2'));
    await answer(it, await oneIn(it), 'a', 'b');
    await answer(it, await oneIn(it), 'c');
    const first = await oneOut(it);
    assert.equal((await it.ledger.forget(person('ann'))) >= 2, true);
    assert.equal(await it.ledger.delivered(first), false);
    assert.deepEqual(await deliverAll(it), ['c']);
    assertEmpty(it);
  }),
  promise('another sender who is at work in the same conversation goes on', async (it) => {
    await accept(it, inRoom('bob', '1'), inRoom('ann', '2'), inRoom('bob', '3'));
    const first = await oneIn(it);
    await it.ledger.forget(person('ann'));
    await noneIn(it);
    await answer(it, first, 'a');
    assert.equal((await oneIn(it)).message.text, '3');
  }),
  durably('a conversation that was forgotten begins anew, also after a restart', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await cutBy(it, 'ann');
    await exchange(it, 'ann', 'two', 'b');
    await deliverAll(it);
    assert.ok((await it.ledger.forget(talk('ann'))) >= 7);
    for (const again of [false, true]) {
      if (again) await it.reopen();
      await accept(it, said('ann', 'new'));
      const claim = await oneIn(it);
      const { turns, session, previousAt, empty } = claim.memory;
      assert.deepEqual([turns, session.number, previousAt, empty], [[], 1, null, true]);
      await it.ledger.complete(claim, effects(claim, [], { turn: null }));
      await it.ledger.forget(talk('ann'));
    }
  }),
  durably('what was forgotten does not come back after a restart', async (it) => {
    await exchange(it, 'ann', 'hi', 'a', 'b');
    await exchange(it, 'bob', 'hi', 'c');
    await accept(it, inRoom('ann', '1'), inRoom('bob', '2'), said('ann', 'waits'));
    await it.ledger.forget(talk('ann'));
    await it.ledger.forget(person('ann'));
    await it.reopen();
    assert.deepEqual(textsIn(await takeIn(it, 5)), ['2']);
    assert.deepEqual(await deliverAll(it), ['c']);
  }),
  durably('replies that waited over a restart are known to be to that sender', async (it) => {
    await accept(it, inRoom('ann', '1'), inRoom('bob', '2'));
    await answer(it, await oneIn(it), 'a', 'b');
    await answer(it, await oneIn(it), 'c');
    await it.reopen();
    const first = await oneOut(it);
    await it.ledger.forget(person('ann'));
    assert.equal(await it.ledger.delivered(first), false);
    assert.deepEqual(await deliverAll(it), ['c']);
    assertEmpty(it);
  }),
  durably('dead letters of a sender go, and are counted no more', async (it) => {
    await accept(it, inRoom('ann', '1'), inRoom('bob', '2'), inRoom('ann', '3'));
    await answer(it, await oneIn(it), 'a');
    await answer(it, await oneIn(it), 'b');
    await it.ledger.deadLetter(await oneIn(it), why);
    for (let i = 0; i < 2; i++) await it.ledger.deadLetter(await oneOut(it), why);
    assert.equal(it.ledger.gauges().deadLetters, 3);
    await it.ledger.forget(person('ann'));
    assert.equal(it.ledger.gauges().deadLetters, 1);
    await it.reopen();
    assert.equal(it.ledger.gauges().deadLetters, 1);
  }),
  durably('a burial that is being written down is counted right', async (it) => {
    await accept(it, said('ann', 'one'));
    const buried = it.ledger.deadLetter(await oneIn(it), why);
    await Promise.all([buried, it.ledger.forget(talk('ann'))]);
    assert.equal(it.ledger.gauges().deadLetters, 0);
  }),
  durably('others remember on without the sender, also who was at work', async (it) => {
    await accept(it, inRoom('ann', '1'), inRoom('bob', '2'), inRoom('bob', '3'));
    const one = await oneIn(it);
    await it.ledger.complete(
      one,
      effects(one, ['to ann'], { turn: null, imported: 'quoted of both' }),
    );
    await answer(it, await oneIn(it), 'to bob');
    const atWork = await oneIn(it);
    assert.equal(atWork.memory.turns.length, 2);
    await it.ledger.forget(person('ann'));
    await answer(it, atWork, 'to bob again');
    for (const again of [false, true]) {
      if (again) await it.reopen();
      await accept(it, inRoom('cid', '4'));
      const { memory } = await oneIn(it);
      assert.deepEqual(
        memory.turns.map(({ text }) => text),
        ['2', '3'],
      );
      await it.ledger.forget(person('cid'));
    }
  }),
  durably('what a conversation says after it was asked for stays', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    const forgotten = it.ledger.forget(talk('ann'));
    await accept(it, said('ann', 'two'));
    await answer(it, await oneIn(it), 'b');
    await forgotten;
    await accept(it, said('ann', 'three'));
    const { memory } = await oneIn(it);
    assert.deepEqual(
      memory.turns.map(({ text }) => text),
      ['two'],
    );
    assert.deepEqual(await deliverAll(it), ['b']);
  }),
];

/** Asserts that nothing is unsettled, and that the ledger holds nothing in memory. */
function assertEmpty(it: Bench): void {
  const gauges = it.ledger.gauges();
  const unasked = /Max$|^rememberedBytes$|^commitsPending$/;
  assert.deepEqual(
    Object.entries(gauges).filter(([name, count]) => !unasked.test(name) && count !== 0),
    [],
  );
  assert.deepEqual(it.ledger.backlog(), []);
  assert.deepEqual(it.ledger.unsettled(9), []);
}

async function cutBy(it: Bench, who: string): Promise<void> {
  await accept(it, said(who, '/new'));
  const claim = await oneIn(it);
  const session = { reason: 'command', at: Date.now() } as const;
  await it.ledger.complete(claim, effects(claim, ['new'], { turn: null, session }));
}
