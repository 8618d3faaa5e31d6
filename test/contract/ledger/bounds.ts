import assert from 'node:assert/strict';
import type { Inbound } from '../../../src/domain/message.ts';
import { failure } from '../../../src/domain/failure.ts';
import type { Gauges } from '../../../src/ledger/ledger.ts';
import {
  accept,
  accepted,
  answer,
  deliverAll,
  deliver,
  durably,
  effects,
  exchange,
  hook,
  isSettled,
  noneIn,
  oneIn,
  oneOut,
  other,
  promise,
  said,
  settles,
  takeIn,
  takeOut,
  textsIn,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const three = { messagesMax: 3 };
const never = new AbortController().signal;
const hot = { park: false, possibleDuplicate: false };

/** The ledger's limits, its reports about them, and its end. */
export const boundCases: readonly LedgerCase[] = [
  promise(
    'a full ledger refuses, says when to come again, and forgets what it refused',
    async (it) => {
      await accept(it, said('a', '1'), said('b', '2'), said('c', '3'));
      const refusal = await it.ledger.accept([said('d', '4')]);
      assert.ok(refusal.kind === 'refused' && refusal.reason === 'full');
      assert.ok(refusal.retryAfterMs > 0);
      assert.deepEqual(textsIn(await takeIn(it, 10)), ['1', '2', '3']);
      await noneIn(it);
    },
    three,
  ),
  promise(
    'accepts under way at once do not go over the bound together',
    async (it) => {
      const all = Array.from({ length: 9 }, (_, i) => it.ledger.accept([said(`c${i}`, `${i}`)]));
      const kinds = (await Promise.all(all)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === 'accepted').length, 3);
      assert.equal((await takeIn(it, 10)).length, 3);
    },
    three,
  ),
  promise(
    'their bytes do not go over the bound together, either',
    async (it) => {
      const all = Array.from({ length: 9 }, (_, i) =>
        it.ledger.accept([said(`c${i}`, 'x'.repeat(10_000))]),
      );
      const kinds = (await Promise.all(all)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === 'accepted').length, 3);
      assert.ok(it.ledger.room().bytes < 20_000);
    },
    { bytesMax: 70_000 },
  ),
  promise(
    'whatever a sender makes long takes room',
    async (it) => {
      const long = 'x'.repeat(40_000);
      const media = { type: null, reference: 'r' };
      const sent: readonly Partial<Inbound>[] = [
        { text: long },
        { conversation: long as Inbound['conversation'] },
        { sender: { id: long, name: null } },
        { sender: { id: 's', name: long } },
        { media: { ...media, reference: long } },
        { media: { ...media, type: long } },
        { address: { channel: hook, target: long } },
      ];
      for (const [place, more] of sent.entries()) {
        const { kind } = await it.ledger.accept([said('ann', 'hi', more)]);
        assert.equal(kind, 'refused', `the one at ${place}`);
      }
    },
    { bytesMax: 70_000 },
  ),
  promise(
    'a batch is taken whole or not at all',
    async (it) => {
      await accept(it, said('a', '1'), said('b', '2'));
      const cursor = { channel: hook, name: 'offset', value: '9' };
      const refusal = await it.ledger.accept([said('c', '3'), said('d', '4')], cursor);
      assert.equal(refusal.kind, 'refused');
      assert.equal(await it.ledger.cursor(hook, 'offset'), null);
      assert.equal((await takeIn(it, 10)).length, 2);
    },
    three,
  ),
  promise(
    'a refused message may come again with its key, and is no repeat',
    async (it) => {
      await accept(it, said('a', '1'), said('b', '2'), said('c', '3'));
      assert.equal((await it.ledger.accept([said('d', '4', { dedupeKey: 'k' })])).kind, 'refused');
      const [first] = await takeIn(it, 1);
      await answer(it, first!);
      const [receipt] = await accept(it, said('d', '4', { dedupeKey: 'k' }));
      assert.equal(receipt!.duplicate, false);
    },
    three,
  ),
  promise(
    'an unsettled reply takes the room of its message',
    async (it) => {
      await accept(it, said('a', '1'), said('b', '2'), said('c', '3'));
      const [first] = await takeIn(it, 1);
      await answer(it, first!, 'reply');
      assert.equal((await it.ledger.accept([said('d', '4')])).kind, 'refused');
      await deliver(it, await oneOut(it));
      accepted(await it.ledger.accept([said('d', '4')]));
    },
    three,
  ),
  promise(
    'room shrinks with what comes and grows with what is settled',
    async (it) => {
      assert.equal(it.ledger.room().messages, 3);
      assert.ok(it.ledger.room().bytes > 1_000_000);
      await accept(it, said('a', '1'), said('b', '2'));
      assert.equal(it.ledger.room().messages, 1);
      for (const claim of await takeIn(it, 2)) await answer(it, claim);
      assert.equal(it.ledger.room().messages, 3);
    },
    three,
  ),
  promise('who waits for room where there is some waits for nothing', async (it) => {
    await settles(it.ledger.whenRoom(never));
  }),
  promise(
    'who waits for room is told when there is some',
    async (it) => {
      await accept(it, said('a', '1'), said('b', '2'), said('c', '3'));
      const room = it.ledger.whenRoom(never);
      assert.equal(await isSettled(room), false);
      const [claim] = await takeIn(it, 1);
      await answer(it, claim!);
      await settles(room);
    },
    three,
  ),
  promise(
    'who waits for room may stop waiting',
    async (it) => {
      await accept(it, said('a', '1'), said('b', '2'), said('c', '3'));
      const stop = new AbortController();
      const room = it.ledger.whenRoom(stop.signal);
      assert.equal(await isSettled(room), false);
      stop.abort();
      await settles(room);
      await settles(it.ledger.whenRoom(stop.signal));
    },
    three,
  ),
  promise('a conversation with 100 unsettled replies waits, and others do not', async (it) => {
    const texts = Array.from({ length: 100 }, (_, i) => `reply ${i}`);
    await exchange(it, 'ann', 'hi', ...texts);
    await accept(it, said('ann', 'more'), said('bob', 'hello'));
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['hello']);
    const [first] = await takeOut(it, 1);
    await deliver(it, first!);
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['more']);
  }),
  durably('a conversation with 100 unsettled replies waits after a restart, too', async (it) => {
    const texts = Array.from({ length: 100 }, (_, i) => `reply ${i}`);
    await exchange(it, 'ann', 'hi', ...texts);
    await accept(it, said('ann', 'more'), said('bob', 'hello'), said('bob', 'bye'));
    await it.reopen();
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['hello']);
    await deliver(it, await oneOut(it));
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['more']);
  }),
  promise('after the doors close nothing comes in, and what is in is worked off', async (it) => {
    await accept(it, said('ann', 'one'));
    it.ledger.closeIntake();
    const refusal = await it.ledger.accept([said('ann', 'two')]);
    assert.ok(refusal.kind === 'refused' && refusal.reason === 'shutting_down');
    assert.ok(refusal.retryAfterMs > 0);
    await answer(it, await oneIn(it), 'a');
    assert.deepEqual(await deliverAll(it), ['a']);
    assert.deepEqual(it.ledger.backlog(), []);
  }),
  promise('the backlog counts what is unsettled, by channel', async (it) => {
    assert.deepEqual(it.ledger.backlog(), []);
    await accept(it, said('ann', '1'), said('bob', '2'), said('cid', '3', { channel: other }));
    const [claim] = await takeIn(it, 1);
    assert.deepEqual(backlog(it), { [hook]: [2, 0], [other]: [1, 0] });
    await answer(it, claim!, 'a', 'b');
    assert.deepEqual(backlog(it), { [hook]: [1, 2], [other]: [1, 0] });
  }),
  promise('the gauges follow a message through its life, back to zero', async (it) => {
    const start = states(it);
    assert.deepEqual(start, [0, 0, 0, 0, 0]);
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    assert.deepEqual(states(it), [2, 0, 0, 0, 0]);
    const claim = await oneIn(it);
    assert.deepEqual(states(it), [1, 1, 0, 0, 0]);
    await answer(it, claim, 'a', 'b');
    assert.deepEqual(states(it), [1, 0, 2, 0, 0]);
    const out = await oneOut(it);
    assert.deepEqual(states(it), [1, 0, 1, 1, 0]);
    await it.ledger.defer(out, Date.now() + 3_600_000, failure('timeout'), { ...hot, park: true });
    assert.deepEqual(states(it), [1, 0, 1, 0, 1]);
    await deliverAll(it);
    assert.deepEqual(states(it), [1, 0, 0, 0, 1]);
  }),
  promise('a parked reply is named as unsettled until it is through', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    const how = { ...hot, park: true };
    await it.ledger.defer(await oneOut(it), Date.now(), failure('timeout'), how);
    await until('it can be claimed again', () => it.ledger.gauges().outboxWaiting === 1);
    assert.equal(it.ledger.unsettled(5).length, 1);
    const again = await oneOut(it);
    assert.deepEqual(it.ledger.unsettled(5), [again.reply.id]);
    await deliver(it, again);
    assert.deepEqual(it.ledger.unsettled(5), []);
  }),
  promise('what is settled leaves nothing behind', async (it) => {
    for (let i = 0; i < 20; i++) {
      await accept(it, said(`c${i}`, 'hi', { dedupeKey: i % 2 ? `k${i}` : null }));
      const claim = await oneIn(it);
      if (i % 5 === 0)
        await it.ledger.deadLetter(claim, failure('fault'), effects(claim, ['sorry']));
      else await answer(it, claim, 'a', 'b');
      await deliverAll(it);
    }
    assert.deepEqual(states(it), [0, 0, 0, 0, 0]);
    // Wait until the ledger has released the queues that rested long enough.
    await until('nothing is on its way', () => it.ledger.gauges().commitsPending === 0);
    const { bytesHeld, conversationsAtWork } = it.ledger.gauges();
    assert.deepEqual([bytesHeld, conversationsAtWork], [0, 0]);
    assert.deepEqual(it.ledger.backlog(), []);
  }),
  promise('a release moves the gauges back', async (it) => {
    await exchange(it, 'ann', 'hi', 'a');
    await accept(it, said('ann', 'more'));
    const [message, reply] = [await oneIn(it), await oneOut(it)];
    assert.deepEqual(states(it), [0, 1, 0, 1, 0]);
    await it.ledger.release(message);
    await it.ledger.release(reply);
    assert.deepEqual(states(it), [1, 0, 1, 0, 0]);
  }),
  promise('a thousand conversations at once lose, repeat and reorder nothing', async (it) => {
    const rounds = 3;
    const seen = new Map<string, string[]>();
    for (let round = 0; round < rounds; round++) {
      const all = Array.from({ length: 1_000 }, (_, i) => said(`c${i}`, `${round}`));
      await Promise.all(all.map((inbound) => accept(it, inbound)));
    }
    for (let left = rounds * 1_000; left > 0;) {
      const claims = await takeIn(it, 64);
      assert.ok(claims.length > 0, `${left} are still to come`);
      const whose = claims.map(({ message }) => message.conversation);
      assert.equal(new Set(whose).size, claims.length, 'one at a time in a conversation');
      await Promise.all(claims.map((claim) => answer(it, claim, claim.message.text)));
      left -= claims.length;
    }
    for (let claims = await takeOut(it, 128); claims.length > 0; claims = await takeOut(it, 128)) {
      for (const { reply } of claims) {
        const texts = seen.get(reply.conversation) ?? [];
        seen.set(reply.conversation, [...texts, reply.text]);
      }
      await deliver(it, ...claims);
    }
    assert.equal(seen.size, 1_000);
    for (const texts of seen.values()) assert.deepEqual(texts, ['0', '1', '2']);
    assert.deepEqual(states(it), [0, 0, 0, 0, 0]);
  }),
  promise('ids as long as a channel lets them in are kept', async (it) => {
    // No two equal characters in a row, so that a database cannot compress them.
    const codes = Array.from({ length: 682 }, (_, at) => 0x4e00 + ((at * 7_919) % 20_000));
    const id = String.fromCharCode(...codes);
    assert.ok(Buffer.byteLength(id) > 2_040);
    await accept(it, said(id, 'x', { sender: { id, name: null } }));
    await answer(it, await oneIn(it), 'y');
    assert.deepEqual(await deliverAll(it), ['y']);
  }),
];

function backlog({ ledger }: Bench): Record<string, readonly number[]> {
  return Object.fromEntries(
    ledger.backlog().map(({ channel, inbox, outbox }) => [channel, [inbox, outbox]]),
  );
}

function states({ ledger }: Bench): readonly number[] {
  const names = [
    'inboxWaiting',
    'inboxClaimed',
    'outboxWaiting',
    'outboxClaimed',
    'outboxDeferred',
  ] as const satisfies readonly (keyof Gauges)[];
  const gauges = ledger.gauges();
  return names.map((name) => gauges[name]);
}
