/** Databases of a service that has stored nothing yet. Each process makes the schema once. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import { ids } from '../contract/ledger/kit.ts';
import { writeHere } from './writer-here.ts';

let made: Promise<Uint8Array> | null = null;

/** Copies one to this path. A ledger opened on it finds its schema current. */
export async function putNewDatabase(path: string): Promise<void> {
  await writeFile(path, await (made ??= make()), { mode: 0o600 });
}

async function make(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-new-'));
  const path = join(folder, 'svc.db');
  const options = { path, ...systemClock, ids, retentionDays: 30, startWriter: writeHere };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) throw new Error(ledger.message);
  await ledger[Symbol.asyncDispose]();
  const bytes = await readFile(path);
  await rm(folder, { recursive: true });
  return bytes;
}
