import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { openLedger, openReader } from '../../src/app/storage.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import { createThreadReader } from '../../src/ledger/sqlite/read/thread-reader.ts';
import type { LedgerReader } from '../../src/ledger/ledger.ts';
import { accept, accepted, newIds, said } from '../contract/ledger/kit.ts';
import { testReaderContract, type ReaderBench } from '../contract/reader.ts';
import { putNewDatabase } from '../fake/new-database.ts';
import { writeHere } from '../fake/writer-here.ts';

async function openWith(
  readerAt: (path: string) => Promise<LedgerReader>,
): Promise<ReaderBench & { readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-reader-'));
  const path = join(folder, 'svc.db');
  await putNewDatabase(path);
  const fixed = { path, ids: newIds(), retentionDays: 30, startWriter: writeHere };
  const options = { ...systemClock, ...fixed };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  const reader = await readerAt(path);
  return {
    path,
    ledger,
    reader,
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** Reads as the command line does, on a connection of this thread. */
async function directly(path: string): Promise<LedgerReader> {
  const reader = await openReader({ kind: 'file', path });
  if ('kind' in reader) throw new Error(reader.message);
  return reader;
}

testReaderContract('SQLite', { durable: true }, () => openWith(directly));
testReaderContract('SQLite, in a thread,', { durable: true }, () =>
  openWith(async (path) => createThreadReader(path)),
);

test('a ledger with a reader beside it still leaves its log empty when it ends', async () => {
  await using bench = await openWith(directly);
  const it = Object.assign(bench, { reopen: () => Promise.reject(new Error('not here')) });
  const [receipt] = await accept(it, said('ada', 'hello'));
  assert.equal((await it.reader.story(receipt!.id))?.state, 'waiting');
  await it.ledger[Symbol.asyncDispose]();
  assert.equal(statSync(`${bench.path}-wal`).size, 0);
  assert.equal((await it.reader.story(receipt!.id))?.state, 'waiting');
});

test('the service opens a reader with either form of the ledger', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-reader-'));
  for (const path of [null, join(folder, 'svc.db')]) {
    const storage = path === null ? null : { path, retentionDays: 30, urlEnv: null };
    const failed = (error: unknown): void => assert.fail(String(error));
    const store = await openLedger({
      storage,
      at: path === null ? null : { kind: 'file', path },
      version: '0',
      publicNow: null,
      ids: newIds(),
      ...systemClock,
      news: {},
      failed,
    });
    if ('kind' in store) throw new Error(store.message);
    const acceptance = await store.ledger.accept([said('ada', 'hello')]);
    const [receipt] = accepted(acceptance);
    assert.equal((await store.reader.story(receipt!.id))?.state, 'waiting');
    await store.ledger[Symbol.asyncDispose]();
    await store.reader[Symbol.asyncDispose]();
  }
  await rm(folder, { recursive: true });
});
