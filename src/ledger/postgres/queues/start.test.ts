/** A start on PostgreSQL finds the same as a start on SQLite with the same rows. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { effects, until } from '../../../../test/contract/ledger/kit.ts';
import { all, idOf, put, type Columns } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { TestStores, type TestStore } from '../../../../test/fake/postgres/stores.ts';
import { failure } from '../../../domain/failure.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { steadyNow } from '../../../lib/clock.ts';
import { WorkingSet } from '../../engine/working-set.ts';
import { migrate as migrateFile } from '../../sqlite/files/migrations.ts';
import { recover as recoverFile } from '../../sqlite/ledger/recovery.ts';
import { statements } from '../../sqlite/write/statements.ts';

const hook = 'webhook' as ChannelKey;
const now = Date.now();
/** The receiver asked for an hour. */
const later = {
  due_at: now + 3_600_000,
  failure: JSON.stringify(failure('overloaded', { retryAfterMs: 3_600_000 })),
};
const quick = { limits: { aloneMs: 30_000, besideMs: 0, stallMs: 120_000 } };

type End = { readonly what: string; readonly ended: object | null };
const ends: readonly End[] = [
  { what: 'a clean end', ended: { clean: true } },
  { what: 'a crash', ended: null },
  { what: 'an end by the storage', ended: { alone: idOf(6) } },
];

const message = (id: number, conversation: string, n: number, more: Columns = {}): Columns => {
  return { attempts: 0, alone: 0, id: idOf(id), conversation, n, ...more };
};
const reply = (id: string, conversation: string, seq: number, of: number, more: Columns = {}) => {
  const usual = { attempts: 0, parked: false, due_at: null, failure: null };
  return { ...usual, id, conversation, seq, message_id: idOf(of), ...more };
};

/** Bob's first message is poison, and is to become a dead letter; cid's has run alone once. */
const messages = [
  message(2, 'ann', 7, { attempts: 1 }),
  message(4, 'ann', 8, { attempts: 1 }),
  message(5, 'bob', 1, { alone: 2 }),
  message(1, 'bob', 2),
  message(6, 'cid', 3, { attempts: 1, alone: 1 }),
  message(9, 'dan', 1),
];
const replies = [
  reply(`${idOf(11)}-00`, 'ann', 11, 10, { attempts: 2 }),
  reply(`${idOf(11)}-01`, 'ann', 12, 10),
  reply(`${idOf(12)}-00`, 'bob', 13, 1, later),
  reply(`${idOf(13)}-00`, 'cid', 14, 3, { parked: true, due_at: 1 }),
  reply(`${idOf(14)}-00`, 'cid', 15, 3, { due_at: now - 1 }),
];

const marksOf = 'SELECT id, attempts, alone FROM inbox ORDER BY id';
const triesOf =
  'SELECT id, attempts, replayed, possible_duplicate AS twice FROM outbox ORDER BY id';

async function inPostgres({ ended }: End) {
  await using stores = await TestStores.open();
  const { client } = stores;
  await client.query(
    'INSERT INTO svc.instance (version, process, beside, dead, ended) VALUES ($1, $1, $2, $2, $3)',
    ['before', true, ended === null ? null : JSON.stringify(ended)],
  );
  const queues = ['ann', 'bob', 'cid', 'dan'].map((conversation) => {
    return { conversation, tail: 9, owner: 1 };
  });
  await put(client, 'lane', ...queues);
  await put(client, 'inbox', ...messages);
  await put(client, 'outbox', ...replies);
  const one = await stores.begin(quick);
  const marks = await client.query(marksOf.replace('inbox', 'svc.inbox'));
  const tries = await client.query(triesOf.replace('outbox', 'svc.outbox'));
  const stored = [...marks.rows, ...tries.rows] as object[];
  const { suspects } = one.ledger.gauges();
  return { stored, suspects, ...(await workOff(one)) };
}

/** Works all messages as they come, and all replies but the one that is not due. */
async function workOff({ ledger }: TestStore) {
  const said = new Map<string, object>();
  const sent = new Map<string, object>();
  await until('all have come', async () => {
    for (const claim of await ledger.claim('in', hook, 10)) {
      const { attempt, poison } = claim;
      said.set(claim.message.id, { attempt, poison });
      if (poison) await ledger.deadLetter(claim, failure('server_error'));
      else await ledger.complete(claim, effects(claim, []));
    }
    for (const claim of await ledger.claim('out', hook, 10)) {
      const { attempt, attemptOfSchedule, possibleDuplicate } = claim;
      sent.set(claim.reply.id, { attempt, attemptOfSchedule, possibleDuplicate });
      await ledger.delivered(claim);
    }
    return said.size === messages.length && sent.size === replies.length - 1;
  });
  return { said: sorted(said), sent: sorted(sent), order: [...said.keys()] };
}

const sorted = (map: ReadonlyMap<string, object>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

/** The same rows in SQLite: one sequence for all, in the order of this file. */
function inFile({ ended }: End) {
  using db = new DatabaseSync(':memory:');
  migrateFile(db);
  const body = JSON.stringify({ sender: { id: 'ann' }, text: 'hello' });
  const insert = (table: string, row: Columns): void => {
    const names = Object.keys(row);
    const marks = names.map(() => '?').join(', ');
    const values = Object.values(row).map((value) => (value === true ? 1 : value));
    const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`;
    db.prepare(text).run(
      ...(values as (string | number | null)[]).map((v) => ((v as unknown) === false ? 0 : v)),
    );
  };
  const shared = { channel: 'webhook', body };
  for (const [at, { n: _, ...row }] of messages.entries()) {
    insert('inbox', { seq: at + 1, accepted_at: 1, ...shared, ...row });
  }
  for (const [at, row] of replies.entries()) {
    insert('outbox', { created_at: 1, ...shared, ...row, seq: 100 + at });
  }
  const isClean = ended !== null && 'clean' in ended;
  if (!isClean) db.exec('UPDATE owner SET clean = 0');
  const alone = messages.findIndex(({ id }) => (ended as { alone?: string })?.alone === id);
  const rows = new WorkingSet({ now: () => now, steady: steadyNow });
  const failed = !isClean && ended !== null ? { alone: alone + 1 } : null;
  const { writes, suspects } = recoverFile(db, rows, now, { failed, crashed: null });
  for (const [name, ...values] of writes) db.prepare(statements[name]).run(...values);
  const plain = (found: object[]): object[] => found.map((row) => ({ ...row }));
  const tries = plain(db.prepare(triesOf).all()) as { twice: number }[];
  const stored = [
    ...plain(db.prepare(marksOf).all()),
    ...tries.map((row) => ({ ...row, twice: row.twice === 1 })),
  ];
  return { stored, suspects: suspects.length, ...taken(rows) };
}

function taken(rows: WorkingSet) {
  const said = new Map<string, object>();
  const sent = new Map<string, object>();
  for (const queue of ['ann', 'bob', 'cid', 'dan'].flatMap((name) =>
    rows.queuesOn(hook, name as never),
  )) {
    for (let at = 0; at < queue.inbox.length; at++) {
      const { head, attempt, poison } = queue.inbox.at(at)!;
      said.set(head.id, { attempt, poison });
    }
    const waiting = Array.from({ length: queue.outbox.length }, (_, at) => queue.outbox.at(at)!);
    for (const row of [...waiting, ...(queue.parked ?? [])]) {
      const { head, attempt, replayedAfter, possibleDuplicate } = row;
      if (head.id.startsWith(idOf(12))) continue;
      const attemptOfSchedule = attempt - replayedAfter;
      sent.set(head.id, { attempt, attemptOfSchedule, possibleDuplicate });
    }
  }
  return { said: sorted(said), sent: sorted(sent) };
}

for (const end of ends) {
  postgresTest(`after ${end.what} both forms decide the same`, async () => {
    const { order, ...found } = await inPostgres(end);
    assert.deepEqual(found, inFile(end));
    const places = (of: string): number[] =>
      messages
        .filter((one) => one['conversation'] === of)
        .map(({ id }) => order.indexOf(String(id)));
    for (const name of ['ann', 'bob'])
      assert.deepEqual(
        places(name),
        places(name).toSorted((a, b) => a - b),
      );
  });
}

postgresTest('of many conversations the oldest go first', async () => {
  await using stores = await TestStores.open();
  const names = ['new', 'old', 'mid'];
  await put(
    stores.client,
    'lane',
    ...names.map((conversation) => ({ conversation, tail: 50, waits: 2 })),
  );
  await put(
    stores.client,
    'inbox',
    message(8, 'new', 1),
    message(5, 'old', 40),
    message(1, 'old', 41),
    message(6, 'mid', 2),
  );
  const one = await stores.begin();
  const claims = await one.ledger.claim('in', hook, 10);
  assert.deepEqual(
    claims.map(({ message: { id } }) => id),
    [idOf(5), idOf(6), idOf(8)],
    'the heads',
  );
});

postgresTest('very many rows in as many queues are all found, and blamed once', async () => {
  const count = 6_789;
  await using stores = await TestStores.open();
  const { client } = stores;
  await client.query(
    "INSERT INTO svc.instance (version, process, beside, dead) VALUES ('before', '', true, true)",
  );
  await client.query(
    'INSERT INTO svc.lane (channel, conversation, tail, owner) ' +
      "SELECT 'webhook', 'c' || i, 1, 1 FROM generate_series(1, $1::integer) AS i",
    [count],
  );
  await client.query(
    'INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body) ' +
      "SELECT lpad(i::text, 22, '0'), 'webhook', 'c' || i, 1, 1, 's', false, '{}' " +
      'FROM generate_series(1, $1::integer) AS i',
    [count],
  );
  const one = await stores.begin();
  assert.equal(one.ledger.gauges().inboxWaiting, count, 'at once');
  assert.deepEqual([...new Set(await all(client, 'inbox', 'attempts'))], [1]);
});
