/** How a case opens each backend of the ledger, sound or with a planted fault. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { later, steadyNow, type SteadyTime } from '../../../src/lib/clock.ts';
import { createDeadlines } from '../../../src/lib/deadlines.ts';
import type { MergeClock } from '../../../src/ledger/engine/working-set.ts';
import { createMemoryLedger } from '../../../src/ledger/memory/memory.ts';
import { openSqliteLedger } from '../../../src/ledger/sqlite/sqlite.ts';
import { openPostgresStore } from '../../../src/ledger/postgres/postgres.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { emptyDatabase } from '../../fake/postgres.ts';
import { putNewDatabase } from '../../fake/new-database.ts';
import { writeHere } from '../../fake/writer-here.ts';
import { newIds, type ClockedBench, type Limits, type OpenBench } from './kit.ts';

export type Backend = {
  readonly durable: boolean;
  open(limits: Limits, plant: Plant): Promise<ClockedBench>;
};
/** Wraps a fault around a ledger. */
export type Plant = (ledger: Ledger) => Ledger;

const sound: Plant = (ledger) => ledger;

/** A sound backend. */
export const openSound =
  (backend: Backend): OpenBench =>
  (limits) =>
    backend.open(limits, sound);

/** The machine's clock, as far ahead as a case sets it. */
export function clockAtHand() {
  let [aheadMs, passedMs] = [0, 0];
  const steady = (): SteadyTime => later(steadyNow(), passedMs);
  const deadlines = createDeadlines(steady);
  return {
    clock: {
      now: () => Date.now() + aheadMs + passedMs,
      steady,
      deadlines,
    },
    shiftClock: (ms: number) => void (aheadMs += ms),
    pass(ms: number) {
      passedMs += ms;
      // The timer uses the machine's clock, so a time long past wakes it.
      deadlines.at(0 as SteadyTime, () => {});
    },
  };
}

export const memoryBackend: Backend = {
  durable: false,
  async open(limits, plant) {
    const { clock, ...hands } = clockAtHand();
    const ledger = plant(createMemoryLedger({ ...clock, ids: newIds(), limits }));
    return {
      ledger,
      ...hands,
      reopen: () => Promise.reject(new Error('the memory form keeps nothing')),
      [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
    };
  },
};

export const sqliteBackend: Backend = {
  durable: true,
  async open(limits, plant) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-ledger-'));
    const { clock, ...hands } = clockAtHand();
    const path = join(folder, 'svc.db');
    const start = async (): Promise<Ledger> => plant(await openAt(path, clock, limits));
    await putNewDatabase(path);
    let ledger = await start();
    return {
      get ledger() {
        return ledger;
      },
      ...hands,
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

async function openAt(path: string, clock: MergeClock, limits: Limits): Promise<Ledger> {
  const more = { limits, startWriter: writeHere };
  const opened = await openSqliteLedger({
    path,
    ...clock,
    ids: newIds(),
    retentionDays: 30,
    ...more,
  });
  if ('kind' in opened) throw new Error(opened.message);
  return opened;
}

export const postgresBackend: Backend = postgresBehind((url) => url);

/** @param way maps the URL of a database to the URL for its clients */
export function postgresBehind(way: (url: string) => string | Promise<string>): Backend {
  return {
    durable: true,
    open: (limits, plant) => openPostgres(way, limits, plant),
  };
}

async function openPostgres(
  way: (url: string) => string | Promise<string>,
  limits: Limits,
  plant: Plant,
): Promise<ClockedBench> {
  const { clock, ...hands } = clockAtHand();
  const database = await emptyDatabase();
  const url = await way(database.url);
  const start = async (): Promise<Ledger> => plant(await openOn(url, clock, limits));
  let ledger = await start();
  return {
    get ledger() {
      return ledger;
    },
    ...hands,
    async reopen() {
      await ledger[Symbol.asyncDispose]();
      ledger = await start();
    },
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function openOn(url: string, clock: MergeClock, limits: Limits): Promise<Ledger> {
  const opened = await openPostgresStore({
    url,
    ...clock,
    ids: newIds(),
    retentionDays: 30,
    version: 'test',
    limits,
  });
  if ('kind' in opened) throw new Error(opened.message);
  return opened.ledger;
}
