/** How each form of the ledger is opened for a case, as it is or behind a planted fault. */
import { rmSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryLedger } from '../../../src/store/memory.ts';
import { openSqliteLedger } from '../../../src/store/sqlite/sqlite.ts';
import type { Ledger } from '../../../src/store/store.ts';
import { ids, type ClockedBench, type Limits, type OpenBench } from './kit.ts';

export type Form = {
  readonly durable: boolean;
  open(limits: Limits, plant: Plant): Promise<ClockedBench>;
};
/** Puts a fault round a ledger. */
export type Plant = (ledger: Ledger) => Ledger;

const sound: Plant = (ledger) => ledger;

/** A form as it is. */
export const openSound =
  (form: Form): OpenBench =>
  (limits) =>
    form.open(limits, sound);

export const memoryForm: Form = {
  durable: false,
  async open(limits, plant) {
    let aheadMs = 0;
    const now = (): number => Date.now() + aheadMs;
    const ledger = plant(createMemoryLedger({ now, ids, limits }));
    return {
      ledger,
      shiftClock: (ms) => void (aheadMs += ms),
      reopen: () => Promise.reject(new Error('the memory form keeps nothing')),
      [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
    };
  },
};

export const sqliteForm: Form = {
  durable: true,
  async open(limits, plant) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-ledger-'));
    let aheadMs = 0;
    const now = (): number => Date.now() + aheadMs;
    const path = join(folder, 'svc.db');
    await cp(await emptyDatabase(), path);
    const start = async (): Promise<Ledger> => plant(await openAt(path, now, limits));
    let ledger = await start();
    return {
      get ledger() {
        return ledger;
      },
      shiftClock: (ms) => void (aheadMs += ms),
      async reopen() {
        await ledger[Symbol.asyncDispose]();
        ledger = await start();
      },
      async [Symbol.asyncDispose]() {
        await ledger[Symbol.asyncDispose]();
        await rm(folder, { recursive: true });
      },
    };
  },
};

let empty: Promise<string> | null = null;

/** A database with its tables and no row: a copy costs less than making one for each case. */
function emptyDatabase(): Promise<string> {
  empty ??= makeEmptyDatabase();
  return empty;
}

async function makeEmptyDatabase(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-ledger-empty-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  const path = join(folder, 'svc.db');
  const ledger = await openAt(path, Date.now, {});
  await ledger[Symbol.asyncDispose]();
  return path;
}

async function openAt(path: string, now: () => number, limits: Limits): Promise<Ledger> {
  const opened = await openSqliteLedger({ path, now, ids, retentionDays: 30, limits });
  if ('kind' in opened) throw new Error(opened.message);
  return opened;
}
