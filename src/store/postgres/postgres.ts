/** From a URL to a ledger that has recovered what was unsettled, or to why it cannot be had. */
import type { Client } from 'pg';
import type { IdSource } from '../../domain/ids.ts';
import type { Clock } from '../../lib/clock.ts';
import { endsWithin } from '../../lib/lifetime.ts';
import { LaneLedger } from '../ledger/ledger.ts';
import type { LastEnd } from '../ledger/recovering.ts';
import type { LedgerNews } from '../news.ts';
import type { InRow } from '../order/rows.ts';
import { WorkingSet } from '../order/working-set.ts';
import type { StoreProblem } from '../problem.ts';
import type { Ledger } from '../store.ts';
import { DeadLetters } from './ledger/dead-letters.ts';
import { History } from './ledger/history.ts';
import { endedByStorage, ownProcess, takeInstance } from './ledger/instance.ts';
import type { FormerEnd, ProcessFacts, Taken } from './ledger/instance.ts';
import { lastId, recover, writeRecovered } from './ledger/recovery.ts';
import { Sweeping } from './ledger/sweep.ts';
import { postgresLimits, type PostgresLimits } from './limits.ts';
import type { PostgresFlights, PostgresParts } from './parts.ts';
import { PostgresStorage } from './postgres-storage.ts';
import { readAddress } from './server/address.ts';
import { connect, cut } from './server/connect.ts';
import { lookAt } from './server/look.ts';
import { migrate } from './server/migrations.ts';
import { lockedProblem, problemOf, refusalOf } from './server/problem.ts';
import { ServerReads } from './server/reads.ts';
import { compose, sizeOf } from './write/compose.ts';
import { Flights, flightTimes, type FlightTimes } from './write/flights.ts';
import { Writer } from './write/writer.ts';

export type PostgresOptions = Clock & {
  /** With the password: it is told nowhere. */
  readonly url: string;
  readonly ids: IdSource;
  readonly retentionDays: number;
  /** Of this program, for who asks which one works on the database. */
  readonly version: string;
  /** Told once when the storage has failed for good; everything after is refused. */
  readonly onFault?: (error: unknown) => void;
  readonly news?: LedgerNews;
  readonly limits?: Partial<PostgresLimits>;
  readonly times?: Partial<FlightTimes>;
  /** Told the number of this instance. */
  readonly taken?: (id: number) => void;
  /** Left out: this process. */
  readonly self?: ProcessFacts;
  /** Once it aborts nothing more is written, as if the process were killed. */
  readonly killed?: AbortSignal;
};

/** A flight without an answer for so long is given up. */
const answerMs = 15_000;
const noteMs = 2_000;

type Connect = (signal?: AbortSignal) => Promise<Client>;

/** Connects, brings the schema up to date, takes over, and recovers what was unsettled. */
export async function openPostgresLedger(options: PostgresOptions): Promise<Ledger | StoreProblem> {
  const address = readAddress(options.url);
  if (address.kind === 'problems') return urlProblem(address.problems);
  const where = String(address);
  const again: Connect = (signal) => connect(address, signal === undefined ? {} : { signal });
  let client: Client | null = null;
  try {
    client = await again();
    const refusal = refusalOf(await lookAt(client), where);
    if (refusal !== null) return refusal;
    await migrate(client, (upgrade) => options.news?.storageUpgrading?.(upgrade));
    const { version, self = ownProcess() } = options;
    const waits = (ms: number): void => options.news?.storageWaits?.({ ms });
    const taken = await takeInstance(client, { version, self, waits });
    if (taken.kind === 'locked') return lockedProblem(where, sayHolder(taken));
    options.taken?.(taken.id);
    const ledger = await open(client, taken.id, taken.before, again, options);
    client = null;
    return ledger;
  } catch (error) {
    return problemOf(error, where);
  } finally {
    if (client !== null) cut(client);
  }
}

async function open(
  client: Client,
  instance: number,
  before: FormerEnd,
  again: Connect,
  options: PostgresOptions,
): Promise<Ledger> {
  const { now, steady, ids, retentionDays, news = {} } = options;
  const limits = { ...postgresLimits, ...options.limits };
  await using opened = new AsyncDisposableStack();
  const rows = new WorkingSet(options);
  ids.startAfter(await lastId(client));
  const recovered = await recover(client, rows, lastEndOf(before), now());
  const given = new AbortController();
  const reach = (): Promise<Client> => again(given.signal);
  const writer = new Writer(client, { instance, connect: reach, answerMs });
  const times = { ...flightTimes, closeMs: limits.closeMs, ...options.times };
  const flights: PostgresFlights = new Flights(writer, { compose, sizeOf, steady, times });
  opened.defer(() => flights.abandon());
  options.killed?.addEventListener('abort', () => flights.abandon());
  await writeRecovered(flights, recovered);
  const reads = opened.use(new ServerReads(reach));
  const slowReads = opened.use(new ServerReads(reach));
  const giveUp = (): void => given.abort(new Error('the storage is closed'));
  opened.defer(giveUp);
  const history = await History.open(reads);
  const shared = { now, steady, rows, flights, reads, slowReads, history };
  const deadLetters = await DeadLetters.open({ ...shared, reads: slowReads });
  const expired = (id: string): void => deadLetters.remove(id);
  const sweeping = opened.use(new Sweeping({ reads: slowReads, retentionDays, now, expired }));
  const { suspects } = recovered;
  const notes = failureNotes(instance, again);
  const parts: PostgresParts = {
    ...shared,
    limits,
    deadLetters,
    sweeping,
    news,
    suspects,
    giveUp,
    ...notes,
  };
  opened.move();
  return new LaneLedger({ ...options, rows, storage: new PostgresStorage(parts), news });
}

/** A new process that dies before its first claim blames nobody either: nothing was at work. */
function lastEndOf(before: FormerEnd): LastEnd {
  const alone = before.kind === 'storage_failed' ? before.alone : null;
  return {
    unclean: before.kind === 'unknown' || before.kind === 'storage_failed',
    byStorage: before.kind === 'storage_failed',
    ranAlone: ({ head }: InRow) => head.id === alone,
  };
}

/** Writes down over a connection of its own that the storage failed: the writer cannot any more. */
function failureNotes(
  instance: number,
  again: Connect,
): Pick<PostgresParts, 'noteFailure' | 'noted'> {
  let noting: Promise<unknown> = Promise.resolve();
  const note = async (alone: string | null): Promise<void> => {
    const client = await again();
    const late = setTimeout(() => cut(client), noteMs);
    try {
      await client.query(endedByStorage.text, [...endedByStorage.values(instance, alone)]);
      await client.end();
    } finally {
      clearTimeout(late);
    }
  };
  return {
    noteFailure(alone) {
      noting = endsWithin(note(alone), noteMs).catch(() => {});
    },
    async noted() {
      await noting;
    },
  };
}

function sayHolder({ since, process }: Extract<Taken, { kind: 'locked' }>): string {
  const who = process === null ? '' : `process ${process.pid} on ${process.host}, `;
  return `${who}since ${since.toISOString()}`;
}

function urlProblem(problems: readonly string[]): StoreProblem {
  const message = problems.join(' ');
  return { kind: 'problem', code: 'storage_url', message, isPassing: false };
}
