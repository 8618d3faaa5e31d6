import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReader } from '../src/service.ts';
import { openSqliteLedger } from '../src/store/sqlite/sqlite.ts';
import { createThreadReader } from '../src/store/sqlite/thread-reader.ts';
import type { LedgerReader } from '../src/store/store.ts';
import { ids } from './contract/ledger/kit.ts';
import { testReaderContract, type ReaderBench } from './contract/reader.ts';

async function openWith(readerAt: (path: string) => Promise<LedgerReader>): Promise<ReaderBench> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-reader-'));
  const path = join(folder, 'svc.db');
  const ledger = await openSqliteLedger({ path, now: Date.now, ids, retentionDays: 30 });
  if ('kind' in ledger) throw new Error(ledger.message);
  const reader = await readerAt(path);
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

/** As the command line reads, on a connection of this thread. */
async function directly(path: string): Promise<LedgerReader> {
  const reader = await openReader(path);
  if ('kind' in reader) throw new Error(reader.message);
  return reader;
}

testReaderContract('SQLite', { durable: true }, () => openWith(directly));
testReaderContract('SQLite, in a thread,', { durable: true }, () =>
  openWith(async (path) => createThreadReader(path)),
);
