/** How each form of the ledger is opened for a case, as it is or behind a planted fault. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChannelKey } from '../../../src/domain/ids.ts';
import { steadyNow, type Clock } from '../../../src/lib/clock.ts';
import { createMemoryLedger } from '../../../src/store/memory/memory.ts';
import { openSqliteLedger } from '../../../src/store/sqlite/sqlite.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres.ts';
import type { PeersTimes } from '../../../src/store/postgres/peers/peers.ts';
import { connect } from '../../../src/store/postgres/server/connect.ts';
import type { Ledger } from '../../../src/store/store.ts';
import { seeded } from '../../chaos/proof.ts';
import { newDatabase } from '../../fake/postgres.ts';
import { putNewDatabase } from '../../fake/new-database.ts';
import { writeHere } from '../../fake/writer-here.ts';
import { inHand, pairOf } from './pair.ts';
import { hook, newIds, other, type ClockedBench, type Limits, type OpenBench } from './kit.ts';

export type Form = {
  readonly durable: boolean;
  /** Several instances work it. */
  readonly shared?: boolean;
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
    const clock = { now: () => Date.now() + aheadMs, steady: steadyNow };
    const ledger = plant(createMemoryLedger({ ...clock, ids: newIds(), limits }));
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
    const clock = { now: () => Date.now() + aheadMs, steady: steadyNow };
    const path = join(folder, 'svc.db');
    const start = async (): Promise<Ledger> => plant(await openAt(path, clock, limits));
    await putNewDatabase(path);
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

async function openAt(path: string, clock: Clock, limits: Limits): Promise<Ledger> {
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

export const postgresForm: Form = postgresBehind((url) => url);

/** @param way the URL by which a database is reached */
export function postgresBehind(way: (url: string) => string | Promise<string>): Form {
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
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs, steady: steadyNow };
  const url = await way(await newDatabase());
  const start = async (): Promise<Ledger> => plant(await openOn(url, clock, limits));
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
    },
  };
}

/** Two instances on one database; see pair.ts. */
export const postgresPairForm: Form = {
  durable: true,
  shared: true,
  async open(limits, plant) {
    let aheadMs = 0;
    const clock = { now: () => Date.now() + aheadMs, steady: steadyNow };
    const url = await newDatabase();
    const client = await connect(url);
    const random = seeded(Math.floor(Math.random() * 1e6));
    let served: readonly ChannelKey[] = [hook, other];
    const start = async (): Promise<Ledger> => {
      const one = await openOn(url, clock, limits, quickBeats);
      const two = await openOn(url, clock, limits, quickBeats);
      // What waits is taken by who serves its channel.
      for (const ledger of [one, two]) ledger.serve(served);
      const serves = (channels: readonly ChannelKey[]): void => void (served = channels);
      const parts = { both: [one, two] as const, client, random, now: clock.now, limits, serves };
      await inHand(parts);
      return plant(pairOf(parts));
    };
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
        await client.end();
      },
    };
  },
};

/** What is another's is soon heard of. */
const quickBeats: Partial<PeersTimes> = { beatMs: 50 };

async function openOn(
  url: string,
  clock: Clock,
  limits: Limits,
  peersTimes: Partial<PeersTimes> = {},
): Promise<Ledger> {
  const opened = await openPostgresStore({
    url,
    ...clock,
    ids: newIds(),
    retentionDays: 30,
    version: 'test',
    limits,
    peersTimes,
  });
  if ('kind' in opened) throw new Error(opened.message);
  return opened.ledger;
}
