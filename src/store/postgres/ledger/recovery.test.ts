/** What a start finds in PostgreSQL: the same as SQLite finds in the same rows. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import { all, died, idOf, put, type Columns } from '../../../../test/fake/ledger-rows.ts';
import { now, openParts } from '../../../../test/fake/ledger-parts.ts';
import { newDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { steadyNow } from '../../../lib/clock.ts';
import type { LastEnd } from '../../ledger/recovering.ts';
import type { Suspect } from '../../order/quarantine.ts';
import { WorkingSet } from '../../order/working-set.ts';
import { migrate as migrateFile } from '../../sqlite/files/migrations.ts';
import { recover as recoverFile } from '../../sqlite/ledger/recovery.ts';
import { statements } from '../../sqlite/write/statements.ts';
import { connect } from '../server/connect.ts';
import { migrate } from '../server/migrations.ts';
import { lastIdMark } from './marks.ts';
import { lastId, recover, writeRecovered } from './recovery.ts';

type Crafted = { readonly messages: readonly Columns[]; readonly replies: readonly Columns[] };

const hook = 'webhook' as ChannelKey;
const clean: LastEnd = { unclean: false, byStorage: false, ranAlone: () => false };
const crash: LastEnd = { ...clean, unclean: true };
const storage = (alone: string): LastEnd => ({
  unclean: true,
  byStorage: true,
  ranAlone: ({ head }) => head.id === alone,
});

/** Three conversations; bob's first message has been a dead letter. */
const crafted: Crafted = {
  messages: [
    { id: idOf(2), conversation: 'ann', n: 7, attempts: 1 },
    { id: idOf(4), conversation: 'ann', n: 8, attempts: 1 },
    { id: idOf(5), conversation: 'bob', n: 1, attempts: 0, alone: 2 },
    { id: idOf(1), conversation: 'bob', n: 2 },
    { id: idOf(6), conversation: 'cid', n: 3, attempts: 1, alone: 1 },
    { id: idOf(9), conversation: 'dan', n: 1 },
  ],
  replies: [
    { id: `${idOf(11)}-00`, conversation: 'ann', seq: 11, message_id: idOf(10), attempts: 2 },
    { id: `${idOf(11)}-01`, conversation: 'ann', seq: 12, message_id: idOf(10) },
    { id: `${idOf(12)}-00`, conversation: 'bob', seq: 13, message_id: idOf(1), due_at: now + 1 },
    { id: `${idOf(13)}-00`, conversation: 'cid', seq: 14, message_id: idOf(3), parked: true },
    { id: `${idOf(14)}-00`, conversation: 'cid', seq: 15, message_id: idOf(3), due_at: now },
  ],
};

async function putAll(client: Client, { messages, replies }: Crafted): Promise<void> {
  await put(client, 'inbox', ...messages.map((one) => ({ attempts: 0, alone: 0, ...one })));
  const usual = { attempts: 0, parked: false, due_at: null };
  await put(client, 'outbox', ...replies.map((one) => ({ ...usual, ...one })));
}

async function inPostgres(rows: Crafted, end: LastEnd) {
  await using it = await openParts((client) => putAll(client, rows));
  const set = new WorkingSet({ now: () => now, steady: steadyNow });
  const recovered = await recover(it.client, set, end, now);
  await writeRecovered(it.flights, recovered);
  const marks = await it.client.query('SELECT id, attempts, alone FROM svc.inbox ORDER BY id');
  const tries = await it.client.query(
    'SELECT id, attempts, replayed, possible_duplicate AS twice FROM svc.outbox ORDER BY id',
  );
  return told(set, rows.replies.length, recovered.suspects, [...marks.rows, ...tries.rows]);
}

/** The rows as SQLite has them: one number for all, in the order in which they are told. */
function inFile({ messages, replies }: Crafted, end: LastEnd) {
  using db = new DatabaseSync(':memory:');
  migrateFile(db);
  const body = JSON.stringify({ sender: { id: 'ann' }, text: 'hello' });
  const insert = (table: string, row: Columns): void => {
    const names = Object.keys(row);
    const marks = names.map(() => '?').join(', ');
    const values = Object.values(row).map((value) => (value === true ? 1 : value));
    const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`;
    db.prepare(text).run(...(values as (string | number | null)[]));
  };
  const shared = { channel: 'webhook', body };
  for (const [at, { n: _, ...row }] of messages.entries()) {
    insert('inbox', { seq: at + 1, accepted_at: 1, ...shared, ...row });
  }
  for (const [at, row] of replies.entries()) {
    insert('outbox', { created_at: 1, ...shared, ...row, seq: 100 + at });
  }
  if (end.unclean) db.exec('UPDATE owner SET clean = 0');
  const set = new WorkingSet({ now: () => now, steady: steadyNow });
  const alone = messages.findIndex(({ id }) => end.ranAlone({ head: { id } } as never));
  const failed = end.byStorage ? { alone: alone + 1 } : null;
  const { writes, suspects } = recoverFile(db, set, now, failed);
  for (const [name, ...values] of writes) db.prepare(statements[name]).run(...values);
  const marks = db.prepare('SELECT id, attempts, alone FROM inbox ORDER BY id').all();
  const tries = db
    .prepare('SELECT id, attempts, replayed, possible_duplicate FROM outbox ORDER BY id')
    .all()
    .map(({ possible_duplicate: twice, ...row }) => ({ ...row, twice: twice === 1 }));
  const stored = [...marks, ...tries].map((row) => ({ ...row }));
  return told(set, replies.length, suspects, stored);
}

/** All that a start decided: who goes first, what counts as tried, who is held back. */
async function told(rows: WorkingSet, replies: number, held: readonly Suspect[], stored: object[]) {
  const messages: object[] = [];
  for (let row; (row = rows.take('in', hook)) !== undefined; rows.settle(row)) {
    assert.ok(row.box === 'in');
    messages.push({ id: row.head.id, attempt: row.attempt, condemned: row.condemned });
  }
  const tried = new Map<string, object>();
  // What has a due time is offered at that time.
  while (tried.size < replies) {
    const row = rows.take('out', hook);
    if (row === undefined) {
      await new Promise(setImmediate);
      continue;
    }
    assert.ok(row.box === 'out');
    const { attempt, replayedAfter, possibleDuplicate } = row;
    // Known where the message waits as well: it was dead, and is to be tried again.
    const { sender } = row.progress;
    tried.set(row.head.id, { attempt, replayedAfter, possibleDuplicate, sender });
    rows.settle(row);
  }
  const suspects = held.map(({ row, alone }) => ({ id: row.head.id, attempt: row.attempt, alone }));
  return { messages, replies: [...tried].sort(([a], [b]) => (a < b ? -1 : 1)), suspects, stored };
}

const ends: readonly (readonly [string, LastEnd])[] = [
  ['a clean end', clean],
  ['a crash', crash],
  ['an end by the storage', storage(idOf(6))],
];
for (const [what, end] of ends) {
  postgresTest(`after ${what} both forms decide the same`, async () => {
    const found = await inPostgres(crafted, end);
    assert.deepEqual(found, await inFile(crafted, end));
    assert.equal(found.stored.length, 11);
    assert.equal(found.replies.length, 5);
  });
}

postgresTest(
  'after a crash the heads are blamed, and a second time they are suspects',
  async () => {
    const { stored, suspects } = await inPostgres(crafted, crash);
    const attempts = Object.fromEntries(
      (stored as { id: string; attempts: number }[]).map((row) => [row.id, row.attempts]),
    );
    assert.equal(attempts[idOf(2)], 2);
    assert.equal(attempts[idOf(4)], 1, 'it waited behind the head');
    assert.deepEqual(
      suspects.map(({ id }) => id),
      [idOf(5), idOf(2), idOf(6)],
    );
  },
);

postgresTest('conversations go in the order of their age, each in its own', async () => {
  const messages = [
    { id: idOf(8), conversation: 'new', n: 1 },
    { id: idOf(5), conversation: 'old', n: 40 },
    { id: idOf(1), conversation: 'old', n: 41 },
    { id: idOf(9), conversation: 'old', n: 42 },
    { id: idOf(6), conversation: 'mid', n: 2 },
  ];
  const found = await inPostgres({ messages, replies: [] }, clean);
  const order = found.messages.map((row) => (row as { id: string }).id);
  assert.deepEqual(order.slice(0, 3), [idOf(5), idOf(6), idOf(8)], 'the heads');
  assert.deepEqual(order.slice(3), [idOf(1), idOf(9)]);
});

postgresTest('very many rows come in pages and are written in steps, each once', async () => {
  const count = 12_345;
  await using it = await openParts((client) =>
    client.query(
      'INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body) ' +
        "SELECT lpad(i::text, 22, '0'), 'webhook', 'c' || i, 1, 1, 's', false, '{}' " +
        'FROM generate_series(1, $1::integer) AS i',
      [count],
    ),
  );
  const rows = new WorkingSet({ now: () => now, steady: steadyNow });
  const recovered = await recover(it.client, rows, crash, now);
  assert.equal(recovered.blamed.length, count);
  await writeRecovered(it.flights, recovered);
  assert.deepEqual([...new Set(await all(it.client, 'inbox', 'attempts'))], [1]);
  const sizes = it.asked
    .filter(({ text }) => text.includes('attempts = attempts + 1'))
    .map(({ values }) => (values[0] as string[]).length);
  assert.ok(sizes.length > 1 && Math.max(...sizes) <= 5_000, 'no flight takes all of them');
});

postgresTest('ids go on behind the newest that was ever given', async () => {
  const client = await connect(await newDatabase());
  try {
    await migrate(client);
    assert.equal(await lastId(client), '');
    for (const [at, table] of ['message', 'inbox', 'sent', 'outbox'].entries()) {
      const id = idOf(100 + at);
      const isReply = table === 'sent' || table === 'outbox';
      await put(client, table, { id: isReply ? `${id}-03` : id });
      assert.equal(await lastId(client), id, table);
    }
    for (const [given, newest] of [
      [idOf(300), idOf(300)],
      [idOf(200), idOf(300)],
    ] as const) {
      const { text, values } = lastIdMark(given);
      await client.query(text, [...values]);
      assert.equal(await lastId(client), newest);
    }
  } finally {
    await client.end();
  }
});

postgresTest('an id is not given again where the newest row was deleted', async () => {
  const fill = async (client: Client): Promise<void> => {
    await put(client, 'message', {}, { id: idOf(7), n: 2, failure: died });
  };
  await using it = await openParts(fill);
  assert.equal(await it.letters.discard(idOf(7)), 'done');
  assert.equal(await lastId(it.client), idOf(7));
  const whose = { kind: 'conversation', channel: hook, conversation: 'ann' } as never;
  const asked = { whose, before: 1, beforeId: idOf(9) as never, removed: 0, remove() {} };
  await it.forgetting.forget(asked);
  assert.equal(await lastId(it.client), idOf(9));
  assert.deepEqual(await all(it.client, 'message'), []);
});
