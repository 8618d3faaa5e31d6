/** A request to forget: the rows that it deletes in PostgreSQL, and the rows that stay. */
import assert from 'node:assert/strict';
import { all, count, died, idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { openParts, type LedgerDeps } from '../../../../test/fake/ledger-parts.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import type { ChannelKey, ConversationId, MessageId } from '../../../domain/ids.ts';
import type { MessageOwner } from '../../../domain/story.ts';
import type { Row } from '../../engine/queue.ts';
import { toText } from '../server/text.ts';

const channel = 'webhook' as ChannelKey;
const talk = (name: string): MessageOwner => {
  return { kind: 'conversation', channel, conversation: name as ConversationId };
};
const person = (sender: string): MessageOwner => ({ kind: 'sender', channel, sender });
const tables =
  'inbox outbox message sent turn cut note tool_use tool_call attachment dedupe lane'.split(' ');

/** @param before the number of the first id that stays */
async function forget(it: LedgerDeps, whose: MessageOwner, before = 1_000): Promise<number> {
  const beforeId = idOf(before) as MessageId;
  return it.forgetting.forget({ whose, before: 1, beforeId, removed: 0, remove() {} });
}

async function counts({ client }: LedgerDeps): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of tables) found[table] = await count(client, table);
  return found;
}

/** Writes every kind of row for one conversation, with ids from `first`. */
async function fillTalk({ client }: LedgerDeps, conversation: string, first: number) {
  const here = { conversation };
  const id = idOf(first);
  const waiting = idOf(first + 1);
  await put(client, 'lane', { ...here, tail: 2, session: 2 });
  await put(client, 'message', { ...here, id, trace: '{}' });
  await put(client, 'inbox', { ...here, id: waiting, n: 2 });
  await put(client, 'sent', { ...here, id: `${id}-00`, message_id: id, seq: first });
  await put(client, 'outbox', { ...here, id: `${id}-01`, message_id: id, seq: first });
  await put(client, 'turn', { ...here, message_id: id });
  await put(client, 'cut', here);
  await put(client, 'note', { ...here, message_id: id }, { ...here, message_id: id, brain: 'b' });
  await put(client, 'tool_use', { ...here, key: `k${first}`, message_id: id });
  await put(client, 'tool_call', { key: `k${first}`, message_id: id });
  await put(client, 'attachment', { ...here, message_id: id }, { ...here, message_id: waiting });
  await put(client, 'dedupe', { key: `k${first}`, message_id: id });
}

postgresTest(
  'of a conversation all tables lose all, but its keys; others lose nothing',
  async () => {
    await using it = await openParts();
    const hostile = 'a\0b\uD800c\uE000';
    await fillTalk(it, toText(hostile), 10);
    await fillTalk(it, 'bob', 20);
    await put(it.client, 'turn', { message_id: idOf(10), channel: 'other' });
    assert.equal(await forget(it, talk(hostile)), 5, 'two messages, two replies, a turn');
    const left = { inbox: 1, outbox: 1, message: 1, sent: 1, turn: 2, cut: 1, note: 2 };
    const rest = { tool_use: 1, tool_call: 1, attachment: 2, dedupe: 2, lane: 1 };
    assert.deepEqual(await counts(it), { ...left, ...rest });
    assert.deepEqual(await all(it.client, 'lane', 'conversation'), ['bob']);
  },
);

postgresTest('what came after the request stays, and so does its queue', async () => {
  await using it = await openParts();
  await fillTalk(it, 'ann', 10);
  await fillTalk(it, 'bob', 50);
  const late = { message_id: idOf(40), n: 3 };
  await put(it.client, 'turn', late);
  await put(it.client, 'message', { id: idOf(40), n: 3 });
  await put(it.client, 'note', { message_id: idOf(40) });
  assert.equal(await forget(it, talk('ann'), 40), 5);
  assert.deepEqual(await all(it.client, 'turn', 'message_id'), [idOf(40), idOf(50)]);
  assert.deepEqual(await all(it.client, 'message'), [idOf(40), idOf(50)]);
  assert.equal(await count(it.client, 'note'), 3);
  assert.deepEqual(await all(it.client, 'lane', 'conversation'), ['ann', 'bob']);
  assert.equal(await forget(it, talk('bob'), 50), 0, 'the first id that came after it stays');
});

postgresTest('of a sender what others said stays, but what may quote it goes', async () => {
  await using it = await openParts();
  const room = { conversation: 'room' };
  const said = (at: number, sender: string) => ({ ...room, id: idOf(at), n: at, sender });
  await put(it.client, 'lane', { ...room, tail: 9 }, { conversation: 'gone', tail: 1 });
  await put(it.client, 'message', said(1, 'ann'), said(2, 'bob'));
  await put(it.client, 'inbox', said(3, 'ann'), said(4, 'bob'));
  const turn = (at: number, sender: string | null) => {
    return { ...room, n: at, message_id: idOf(at), sender };
  };
  await put(it.client, 'turn', turn(1, 'ann'), turn(2, 'bob'), { ...turn(5, null), reply: null });
  await put(it.client, 'turn', { ...turn(6, null), reply: 'an answer' });
  await put(it.client, 'turn', { ...turn(7, 'ann'), conversation: 'gone' });
  await put(it.client, 'note', { ...room, message_id: idOf(2) }, { conversation: 'else' });
  assert.equal(await forget(it, person('ann')), 5, 'two messages, two turns, a quoted block');
  assert.deepEqual(await all(it.client, 'message'), [idOf(2)]);
  assert.deepEqual(await all(it.client, 'inbox'), [idOf(4)]);
  assert.deepEqual(await all(it.client, 'turn', 'n'), [2, 6]);
  assert.deepEqual(await all(it.client, 'note', 'conversation'), ['else']);
  assert.deepEqual(await all(it.client, 'lane', 'conversation'), ['room']);
});

postgresTest('more than one batch goes, though the answers of a batch are lost', async () => {
  await using it = await openParts();
  const many = Array.from({ length: 450 }, (_, at) => at + 1);
  await put(it.client, 'lane', { tail: 450 });
  await put(it.client, 'message', ...many.map((n) => ({ id: idOf(n), n })));
  await put(it.client, 'turn', ...many.map((n) => ({ n, message_id: idOf(n) })));
  let batches = 0;
  const add = it.batches.add.bind(it.batches);
  it.batches.add = (write) => {
    add(write);
    // Loses the answer of each batch in turn.
    if (batches++ % 2 === 0) it.loseAnswers();
  };
  assert.equal(await forget(it, talk('ann')), 900);
  assert.ok(batches > 6);
  assert.deepEqual([await count(it.client, 'message'), await count(it.client, 'turn')], [0, 0]);
});

postgresTest('batches of others go between the batches', async () => {
  await using it = await openParts();
  const many = Array.from({ length: 450 }, (_, at) => ({ n: at + 1, message_id: idOf(at + 1) }));
  await put(it.client, 'turn', ...many);
  let isOver = false;
  let landed = 0;
  const beside = async (): Promise<void> => {
    await it.batches.written(() => {});
    landed++;
    if (!isOver) return beside();
  };
  const forgetting = forget(it, talk('ann')).finally(() => (isOver = true));
  await Promise.all([forgetting, beside()]);
  assert.ok(landed > 3, `${landed}`);
});

postgresTest('unsettled replies to what is forgotten are taken away first', async () => {
  await using it = await openParts();
  await put(it.client, 'message', { conversation: 'room' }, { id: idOf(2), sender: 'bob' });
  const waiting = { conversation: 'room', seq: 2 };
  await put(it.client, 'outbox', waiting, { id: `${idOf(2)}-00`, message_id: idOf(2) });
  const taken: boolean[][] = [];
  const remove = (matches: (row: Row) => boolean): void => {
    const rows = [1, 2].map((at) => ({ box: 'out', head: { inReplyTo: idOf(at) } }) as Row);
    taken.push(rows.map(matches));
  };
  const beforeId = idOf(9) as MessageId;
  await it.forgetting.forget({ whose: person('ann'), before: 1, beforeId, removed: 0, remove });
  assert.deepEqual(taken, [[true, false]]);
  assert.deepEqual(await all(it.client, 'outbox', 'message_id'), [idOf(2)]);
});

postgresTest('dead letters that are forgotten are counted off', async () => {
  await using it = await openParts(async (client) => {
    await put(client, 'message', { failure: died }, { id: idOf(5), failure: died, sender: 'bob' });
    await put(client, 'sent', { failure: died });
  });
  assert.equal(it.letters.count, 2, 'the reply has the id of its message here');
  await forget(it, person('ann'));
  assert.equal(it.letters.count, 1);
});

postgresTest('notes are cleared of their scope, and those made afterwards stay', async () => {
  await using it = await openParts();
  await put(it.client, 'note', { brain: 'b' }, { brain: 'c' }, {}, { conversation: 'bob' });
  assert.equal(await it.forgetting.clearNotes({ kind: 'brain', brain: 'b' }), 1);
  const of = { kind: 'conversation', channel, conversation: 'ann' as ConversationId } as const;
  assert.equal(await it.forgetting.clearNotes(of), 1);
  assert.deepEqual(await all(it.client, 'note', 'conversation'), ['ann', 'bob']);
  await put(it.client, 'inbox', {});
  const note = { kind: 'add', brain: null, at: 5, private: false, text: 'new', max: 9 } as const;
  const end = {
    brain: 'b',
    outcome: 'reply',
    model: null,
    failure: null,
    trace: null,
    unsent: null,
  };
  const none = { replies: [], said: null, queue: null, cut: null, marks: [], uses: [] };
  it.batches.flush(() => {
    // Ask while the clearing is running.
    const where = { channel: 'webhook', conversation: 'c' };
    it.batches.add({ kind: 'turn', id: idOf(1), at: 5, ...where, ...end, ...none, notes: [note] });
    it.batches.flush(() => {});
  });
  assert.equal(await it.forgetting.clearNotes(of), 0);
  assert.equal(await it.batches.written(() => {}), true);
  assert.deepEqual(await all(it.client, 'note', 'text'), ['a note', 'a note', 'new']);
});

postgresTest('nobody believes that the texts are gone when they cannot be deleted', async () => {
  await using it = await openParts();
  await put(it.client, 'message', {});
  it.batches.abandon();
  await assert.rejects(forget(it, talk('ann')), /the storage has failed/);
  await assert.rejects(it.forgetting.clearNotes({ kind: 'brain', brain: 'b' }), /has failed/);
});
