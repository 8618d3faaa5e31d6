/**
 * No setting that an administrator makes for a database or a role changes an answer: every
 * statement runs once more under such settings. They come from PostgreSQL's chapters "Client
 * Connection Defaults" and "Version and Platform Compatibility". They change how PostgreSQL reads
 * or writes a value, or how a transaction begins.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { openMigration, type Place } from '../../src/ledger/migrate/open.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { createPostgresReader } from '../../src/ledger/postgres/read/reader.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { probeServer } from '../../src/ledger/postgres/server/inspection.ts';
import { openSqliteReader } from '../../src/ledger/sqlite/read/reader.ts';
import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, postgresBehind } from '../contract/ledger/backends.ts';
import {
  accept,
  answer,
  deliver,
  hook,
  newIds,
  oneIn,
  oneOut,
  said,
} from '../contract/ledger/kit.ts';
import { testReaderContract } from '../contract/reader.ts';
import { emptyDatabase, newDatabase, noPostgres, postgresTest } from '../fake/postgres.ts';
import { goneProcess } from '../fake/postgres/marks.ts';
import { comesIn } from '../fake/postgres/stores.ts';
import { scratch } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';

const odd: Readonly<Record<string, string>> = {
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  client_encoding: 'LATIN1',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  backslash_quote: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  search_path: 'svc, pg_temp',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  lc_numeric: 'C',
  client_min_messages: 'debug1',
  default_text_search_config: 'pg_catalog.german',
  row_security: 'off',
  xmloption: 'document',
  quote_all_identifiers: 'on',
};

async function setOdd(url: string, settings = odd): Promise<string> {
  const client = await connect(url);
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  for (const [name, value] of Object.entries(settings)) {
    const set = name === 'search_path' ? value : `'${value}'`;
    await client.query(`ALTER DATABASE ${rows[0]!.name} SET ${name} = ${set}`);
  }
  await client.end();
  return url;
}

const backend = postgresBehind((url) => setOdd(url));
testLedgerContract('PostgreSQL, odd settings', backend, openSound(backend), noPostgres);

async function openReading() {
  const database = await emptyDatabase();
  const url = await setOdd(database.url);
  const clock = { ...systemClock, ids: newIds() };
  const store = await openPostgresStore({ url, ...clock, retentionDays: 30, version: 'test' });
  if ('kind' in store) throw new Error(store.message);
  const { ledger } = store;
  const reader = createPostgresReader(() => connect(url));
  return {
    ledger,
    reader,
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

testReaderContract('PostgreSQL, odd settings', { durable: true }, openReading, noPostgres);

/** @param killed absent: the process lives, on the same machine */
async function openStore(url: string, killed?: AbortSignal) {
  const self = killed === undefined ? { ...goneProcess, pid: process.pid } : goneProcess;
  const more = killed === undefined ? { self } : { self, killed };
  const common = { ...systemClock, ids: newIds(), retentionDays: 30, version: 'test' };
  const store = await openPostgresStore({ url, ...common, ...more });
  if ('kind' in store) throw new Error(store.message);
  store.ledger.serve([hook]);
  return { ...store, [Symbol.asyncDispose]: () => store.ledger[Symbol.asyncDispose]() };
}

async function move(from: Place, to: Place): Promise<void> {
  const migration = await openMigration(from, to);
  if ('kind' in migration) throw new Error(migration.message);
  await using _migration = migration;
  await migration.run({ copied: () => {}, comparing: () => {} }, new AbortController().signal);
}

postgresTest('what a killed process left goes on, is read, and is moved', async () => {
  const began = Date.now();
  const url = await setOdd(await newDatabase());
  const life = new AbortController();
  await using one = await openStore(url, life.signal);
  await accept(one, said('ann', 'done'));
  const done = await oneIn(one);
  await answer(one, done, 'an answer');
  await deliver(one, await oneOut(one));
  await accept(one, said('ann', 'at work'), said('bob', 'waits'));
  const [claim] = await one.ledger.claim('in', hook, 1);
  assert.equal(claim!.message.text, 'at work');
  life.abort();

  await using other = await openStore(url);
  const texts = new Map<string, number>();
  for (const _ of ['ann', 'bob']) {
    const { message, attempt } = await comesIn(other);
    texts.set(message.text, attempt);
  }
  assert.deepEqual([texts.get('at work'), texts.has('waits')], [2, true]);
  const [self] = other.peers.instances();
  assert.ok(self!.beganAt >= began && self!.beganAt <= Date.now(), String(self!.beganAt));
  const look = await probeServer(url);
  assert.ok(look.kind === 'looked', JSON.stringify(look));
  assert.ok(look.owner!.heartbeatAgoMs < patienceMs && look.newestAt! >= began);
  await other[Symbol.asyncDispose]();

  await using folder = await scratch();
  const path = join(folder.path, 'svc.db');
  const target = await setOdd(await newDatabase());
  await move({ kind: 'server', url }, { kind: 'file', path });
  await move({ kind: 'file', path }, { kind: 'server', url: target });
  const before = openSqliteReader(path);
  if ('kind' in before) throw new Error(before.message);
  await using _before = before;
  await using after = createPostgresReader(() => connect(target));
  const story = await after.story(done.message.id);
  assert.deepEqual(story, await before.story(done.message.id));
  assert.equal(story!.replies[0]!.tries.length, 1);
});

postgresTest('a database that is set to take no writes is told as one', async () => {
  const url = await setOdd(await newDatabase(), { default_transaction_read_only: 'on' });
  const store = await openPostgresStore({
    url,
    ...systemClock,
    ids: newIds(),
    retentionDays: 30,
    version: 'test',
  });
  assert.ok('kind' in store);
  assert.match(store.message, /takes no writes: .*default_transaction_read_only/);
});
