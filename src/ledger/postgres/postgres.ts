/** Opens the PostgreSQL backend: connect, migrate, join the instances, and build the ledger. */
import type { Client } from 'pg';
import type { IdSource } from '../../domain/ids.ts';
import type { ClockReading } from '../../lib/clock.ts';
import { endsWithin } from '../../lib/lifetime.ts';
import { QueueLedger } from '../engine/engine.ts';
import { reportSooner } from '../engine/crash-isolation.ts';
import { WorkingSet, type MergeClock } from '../engine/working-set.ts';
import type { LedgerNews, Ledger, StoreProblem } from '../ledger.ts';
import { janitorLease } from '../../cluster/cluster.ts';
import type { Peers } from '../../cluster/backend.ts';
import { Takeovers } from './ledger/takeover.ts';
import { beginBounding, boundParked, type TooLate } from './ledger/deferred.ts';
import { DeadLetters } from './ledger/dead-letters.ts';
import { Counting } from './ledger/counting.ts';
import { Figures } from './ledger/figures.ts';
import { History } from './ledger/history.ts';
import { endedByStorage, ownProcess, type Locked, type ProcessFacts } from './ledger/instance.ts';
import { lastId, beginSweeping } from './ledger/sweep.ts';
import { beginIndexing } from './ledger/search-index.ts';
import { Spend } from './ledger/reservations.ts';
import { Queues } from './queues/queues.ts';
import { postgresLimits, type PostgresLimits } from './limits.ts';
import type { PostgresBatches } from './deps.ts';
import { joinInstances, createPeers, type Joined, type PeersTimes } from './peers/peers.ts';
import { PostgresStorage, type PostgresDeps } from './postgres-storage.ts';
import { readAddress } from './server/address.ts';
import { connect, cut } from './server/connect.ts';
import { probeFacts } from './server/probe.ts';
import { migrate } from './server/migrations.ts';
import { aloneProblem, movedProblem, problemOf, refusalOf } from './server/problem.ts';
import { ServerReads } from './server/reads.ts';
import { compose, sizeOf } from './write/compose.ts';
import { batchTimes, Batches, type BatchTimes } from './write/batches.ts';
import { Writer } from './write/writer.ts';

export type PostgresOptions = MergeClock & {
  /** With the password, so it appears in no message. */
  readonly url: string;
  readonly ids: IdSource;
  readonly retentionDays: number;
  /** The version of svc, for people who ask which instances use the database. */
  readonly version: string;
  /** Called once when the storage has failed for good; all later writes are refused. */
  readonly onFault?: (error: unknown) => void;
  readonly news?: LedgerNews;
  readonly limits?: Partial<PostgresLimits>;
  readonly times?: Partial<BatchTimes>;
  readonly peersTimes?: Partial<PeersTimes>;
  /** Gets the server's time with each heartbeat. */
  readonly follow?: ((reading: ClockReading) => void) | undefined;
  /** Absent: this process. */
  readonly self?: ProcessFacts;
  /** For tests: after the abort nothing more is written, as if the process were killed. */
  readonly killed?: AbortSignal;
};

/** A connection without an answer for so long is given up. */
const answerMs = 15_000;
/** The same for the connection of slow reads. */
const slowAnswerMs = 60_000;
/** How long the note about a failed storage may take. */
const noteMs = 2_000;

type Connect = (signal?: AbortSignal) => Promise<Client>;

export type PostgresStore = { readonly ledger: Ledger; readonly peers: Peers };

/**
 * Connects, migrates the schema, joins the other instances, and takes queues with waiting rows.
 * @returns a problem when one of these steps fails
 */
export async function openPostgresStore(
  options: PostgresOptions,
): Promise<PostgresStore | StoreProblem> {
  const address = readAddress(options.url);
  if (address.kind === 'problems') return urlProblem(address.problems);
  const where = String(address);
  const reconnect: Connect = (signal) => connect(address, signal === undefined ? {} : { signal });
  let client: Client | null = null;
  try {
    client = await reconnect();
    const refusal = refusalOf(await probeFacts(client), where);
    if (refusal !== null) return refusal;
    await migrate(client, (upgrade) => options.news?.storageUpgrading?.(upgrade));
    const { version, now, self = ownProcess() } = options;
    const waits = (ms: number): void => options.news?.storageWaits?.({ ms });
    const { follow } = options;
    const joined = await joinInstances(client, { version, self, waits, now, follow });
    if (joined.kind === 'locked') return lockedBy(joined, where);
    const store = await open(client, joined, reconnect, options);
    client = null;
    return store;
  } catch (error) {
    return problemOf(error, where);
  } finally {
    if (client !== null) cut(client);
  }
}

async function open(
  client: Client,
  joined: Joined,
  reconnect: Connect,
  options: PostgresOptions,
): Promise<PostgresStore> {
  const { now, steady, ids, retentionDays, news = {} } = options;
  const limits = { ...postgresLimits, ...options.limits };
  const { heldMax } = limits;
  const instance = joined.id;
  await using opened = new AsyncDisposableStack();
  const rows = new WorkingSet(options);
  ids.startAfter(await lastId(client));
  const closing = new AbortController();
  const reach = (): Promise<Client> => reconnect(closing.signal);
  const giveUp = (): void => closing.abort(new Error('the storage is closed'));
  opened.defer(giveUp);
  const sooner = (replies: readonly TooLate[]): void => reportSooner(replies, news);
  const reads = opened.use(new ServerReads(reach, answerMs));
  const slowReads = opened.use(new ServerReads(reach, slowAnswerMs));
  const history = await History.open(reads);
  let letters: DeadLetters | null = null;
  const queues = new Queues({
    instance,
    rows,
    history,
    reads,
    slowReads,
    heldMax,
    now,
    steady,
    counting: new Counting(slowReads, steady),
    lettersCounted: (count) => letters?.counted(count),
    sooner,
  });
  const writer = new Writer(client, { instance, connect: reach, answerMs });
  const batches: PostgresBatches = new Batches(writer, {
    compose: (writes) => compose(writes, queues.taker),
    sizeOf,
    steady,
    times: { ...batchTimes, closeMs: limits.closeMs, ...options.times },
    trailing: queues.moves,
  });
  opened.defer(() => batches.abandon());
  options.killed?.addEventListener('abort', () => batches.abandon());
  const { follow, peersTimes: times = {} } = options;
  const faulted = (error: unknown): void => news.faulted?.(error);
  const peers = createPeers({ joined, batches, steady, times, follow, faulted });
  opened.defer(() => peers.close());
  const shared = { now, steady, rows, batches, reads, slowReads, history, queues, peers };
  const deadLetters = await DeadLetters.open({ ...shared, reads: slowReads });
  letters = deadLetters;
  const takeovers = await Takeovers.open(shared);
  const expired = (id: string): void => deadLetters.remove(id);
  const isMine = (): boolean => peers.holds(janitorLease);
  const swept = { reads: slowReads, retentionDays, now, expired, isMine };
  const upkeep = opened.use(new AsyncDisposableStack());
  upkeep.use(beginSweeping(swept));
  upkeep.use(beginIndexing({ reads: slowReads, now, isMine }));
  upkeep.use(beginBounding({ reads: slowReads, now, isMine, sooner }));
  const figures = upkeep.use(new Figures(slowReads));
  const spend = upkeep.use(new Spend({ instance, batches, connect: reach }));
  const notes = failureNotes(instance, reconnect);
  const own = { limits, deadLetters, takeovers, upkeep, figures, spend, news, giveUp };
  const deps: PostgresDeps = { ...shared, ...own, ...notes };
  const ledger = new QueueLedger({ ...options, rows, storage: new PostgresStorage(deps), news });
  sooner(await boundParked(slowReads, now(), null));
  await queues.start(closing.signal);
  opened.move();
  return { ledger, peers };
}

/** Notes over a connection of its own that the storage failed, since the writer no longer can. */
function failureNotes(
  instance: number,
  reconnect: Connect,
): Pick<PostgresDeps, 'noteFailure' | 'noteWritten'> {
  let noting: Promise<unknown> = Promise.resolve();
  const note = async (alone: string | null): Promise<void> => {
    const client = await reconnect();
    const timer = setTimeout(() => cut(client), noteMs);
    try {
      await client.query(endedByStorage.text, [...endedByStorage.values(instance, alone)]);
      await client.end();
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    noteFailure(alone) {
      noting = endsWithin(note(alone), noteMs).catch(() => {});
    },
    async noteWritten() {
      await noting;
    },
  };
}

function lockedBy({ since, version, process }: Locked, where: string): StoreProblem {
  if (version === null) return movedProblem(where);
  const who = process === null ? '' : `process ${process.pid} on ${process.host}, `;
  return aloneProblem(where, `${who}version ${version}, since ${since.toISOString()}`);
}

function urlProblem(problems: readonly string[]): StoreProblem {
  const message = problems.join(' ');
  return { kind: 'problem', code: 'storage_url', message, isPassing: false };
}
