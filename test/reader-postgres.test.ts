/** The reader of PostgreSQL over what the ledger of SQLite wrote, whose tables are copied. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { createPostgresReader } from '../src/store/postgres/read/reader.ts';
import { connect } from '../src/store/postgres/server/connect.ts';
import { migrate } from '../src/store/postgres/server/migrations.ts';
import { readerOver } from '../src/store/read/questions.ts';
import { openSqliteLedger } from '../src/store/sqlite/sqlite.ts';
import { ids } from './contract/ledger/kit.ts';
import { testReaderContract, type ReaderBench } from './contract/reader.ts';
import { putNewDatabase } from './fake/new-database.ts';
import { newDatabase } from './fake/postgres.ts';
import { copyTables } from './fake/sqlite-copy.ts';
import { writeHere } from './fake/writer-here.ts';

/** Before each answer the tables are copied; what one writes down meanwhile comes later. */
async function openCopied(): Promise<ReaderBench> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-reader-'));
  const path = join(folder, 'svc.db');
  await putNewDatabase(path);
  const options = { path, ...systemClock, ids, retentionDays: 30, startWriter: writeHere };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  const url = await newDatabase();
  const client = await connect(url);
  await migrate(client);
  const postgres = createPostgresReader(() => connect(url));
  const reader = readerOver(
    async (question, asked) => {
      await copyTables(path, client);
      const read = postgres[question] as (...given: typeof asked) => Promise<never>;
      return read(...asked);
    },
    async () => {
      await postgres[Symbol.asyncDispose]();
      await client.end();
    },
  );
  return {
    ledger,
    reader,
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

testReaderContract('PostgreSQL', { durable: true }, openCopied);
