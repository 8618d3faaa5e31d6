import { systemClock } from '../../src/lib/clock.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { createPostgresReader } from '../../src/ledger/postgres/read/reader.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { newIds } from '../contract/ledger/kit.ts';
import { testReaderContract } from '../contract/reader.ts';
import { emptyDatabase, noPostgres } from '../fake/postgres.ts';

async function open() {
  const database = await emptyDatabase();
  const { url } = database;
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

testReaderContract('PostgreSQL', { durable: true }, open, noPostgres);
