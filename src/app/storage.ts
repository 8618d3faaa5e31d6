/**
 * Opens the ledger's backends for the service. Commands read, copy or examine them beside it. A
 * backend loads only when it is chosen.
 */
import { existsSync } from 'node:fs';
import type { Secrets, StorageConfig } from '../config/config.ts';
import type { StoragePlace } from '../config/storage-place.ts';
import type { IdSource } from '../domain/ids.ts';
import type { BackedUp } from '../ledger/sqlite/files/backup.ts';
import type { Clock, ClockReading } from '../lib/clock.ts';
import type { CursorReader } from '../ledger/read/questions.ts';
import type { DiskRoom, Examined } from '../ledger/sqlite/files/examine.ts';
import type { PublicNow } from '../ledger/sqlite/ledger/sensitivity-labels.ts';
import type { Migration } from '../ledger/migrate/migrate.ts';
import type { ConfigWanted } from '../ledger/postgres/configs/shared-configs.ts';
import type { ServerProbe } from '../ledger/postgres/server/inspection.ts';
import { createAlone } from '../cluster/alone.ts';
import type { Cluster, ConfigInDatabase } from '../cluster/cluster.ts';
import type { StoreProblem, Ledger, LedgerReader, LedgerNews } from '../ledger/ledger.ts';
import type { StartWriter } from '../ledger/sqlite/write/start-writer.ts';

export type { Examined, Migration, ServerProbe, StartWriter, StoreProblem };

/** A storage place that can be opened. */
export type StorageAt =
  /** The path is absolute. */
  | { readonly kind: 'file'; readonly path: string }
  /** The URL is a secret. `nameServer` returns its public part. */
  | { readonly kind: 'server'; readonly url: string };

export type AtServer = Extract<StorageAt, { readonly kind: 'server' }>;

/** @param secrets hold the URL of a server; without it, opening reports an unusable URL */
export function storageAt(place: StoragePlace | null, secrets: Secrets): StorageAt | null {
  if (place?.kind !== 'server') return place;
  return { kind: 'server', url: secrets.get(place.urlEnv) ?? '' };
}

export type LedgerChoice = Clock & {
  readonly storage: StorageConfig | null;
  /** null: in memory. */
  readonly at: StorageAt | null;
  readonly ids: IdSource;
  /** The version of this program. */
  readonly version: string;
  /** Labels rows that are older than sensitivity labels; null: the caller processes no messages. */
  readonly publicNow: PublicNow | null;
  /** Called when the storage fails for good and accepts nothing more. */
  readonly failed: (error: unknown) => void;
  readonly news: LedgerNews;
  /** Receives readings of the clock of the storage's server; left out: nobody does. */
  readonly follow?: (reading: ClockReading) => void;
  /** Starts the writer to the disk; left out: a thread that starts then. */
  readonly startWriter?: StartWriter | undefined;
};

/**
 * Close the reader and the cluster after the ledger; closing one does not close the others.
 * `cluster` leads to the other processes on that ledger, until the ledger is closed.
 */
export type OpenStore = {
  readonly ledger: Ledger;
  readonly reader: LedgerReader;
  readonly cluster: Cluster;
};

/** A thread that writes once it is started. */
export type OpenedStorage = AsyncDisposable & { readonly start: StartWriter };

/**
 * Starts the part of opening a database that takes longest, and opens nothing. For a caller that is
 * about to open one. Dispose of the result if you do not pass it to `openLedger`.
 */
export async function beginStorage(): Promise<OpenedStorage> {
  const { WriterThread } = await import('../ledger/sqlite/write/start-writer.ts');
  return new WriterThread();
}

/** Opens the ledger with the backend of its place. */
export function openLedger(choice: LedgerChoice): Promise<OpenStore | StoreProblem> {
  const { storage, at } = choice;
  if (storage === null || at === null) return openMemory(choice);
  return at.kind === 'file'
    ? openFile(choice, storage, at.path)
    : openServer(choice, storage, at.url);
}

async function openMemory({ ids, now, steady, news }: LedgerChoice): Promise<OpenStore> {
  const [{ createMemoryLedger }, { createMemoryReader }, { StoryRing }] = await Promise.all([
    import('../ledger/memory/memory.ts'),
    import('../ledger/memory/reader.ts'),
    import('../ledger/memory/story-ring.ts'),
  ]);
  const stories = new StoryRing();
  const reader = createMemoryReader(stories);
  const ledger = createMemoryLedger({ now, steady, ids, stories, news });
  return { ledger, reader, cluster: createAlone() };
}

async function openFile(
  { publicNow, ids, now, steady, news, startWriter, failed: onFault }: LedgerChoice,
  { retentionDays }: StorageConfig,
  path: string,
): Promise<OpenStore | StoreProblem> {
  const [{ openSqliteLedger }, { createThreadReader }] = await Promise.all([
    import('../ledger/sqlite/sqlite.ts'),
    import('../ledger/sqlite/read/thread-reader.ts'),
  ]);
  const options = { path, retentionDays, publicNow, now, steady, ids, news, onFault, startWriter };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) return ledger;
  return { ledger, reader: createThreadReader(path), cluster: createAlone() };
}

async function openServer(
  { ids, version, now, steady, news, failed: onFault, follow }: LedgerChoice,
  { retentionDays }: StorageConfig,
  url: string,
): Promise<OpenStore | StoreProblem> {
  const [{ openPostgresStore }, { openCluster }, reader] = await Promise.all([
    import('../ledger/postgres/postgres.ts'),
    import('../ledger/postgres/cluster.ts'),
    readerOfServer(url),
  ]);
  const options = { url, retentionDays, version, now, steady, ids, news, onFault, follow };
  const store = await openPostgresStore(options);
  if ('kind' in store) return store;
  const cluster = openCluster(store, { url, version, now, steady });
  return { ledger: store.ledger, reader, cluster };
}

/** Connects at the first question. */
async function readerOfServer(url: string): Promise<LedgerReader> {
  const { createPostgresReader } = await import('../ledger/postgres/read/reader.ts');
  return createPostgresReader(() => connectTo(url));
}

async function connectTo(url: string) {
  const { connect } = await import('../ledger/postgres/server/connect.ts');
  return connect(url);
}

/** Closes everything, the ledger first. A failure to close one still closes the others. */
export async function closeLedger({ ledger, reader, cluster }: OpenStore): Promise<void> {
  await using opened = new AsyncDisposableStack();
  opened.use(cluster);
  opened.use(reader);
  opened.use(ledger);
}

/** Opens a reader beside a running service, or while none runs. */
export async function openReader(at: StorageAt): Promise<LedgerReader | StoreProblem> {
  if (at.kind === 'file') {
    const { openSqliteReader } = await import('../ledger/sqlite/read/reader.ts');
    return openSqliteReader(at.path);
  }
  return (await whyUnreadable(at)) ?? readerOfServer(at.url);
}

/** Reads the configuration of a database, whether svc runs on it or not; null: there is none. */
export async function readConfigInDatabase(
  { url }: AtServer,
  wanted: ConfigWanted = {},
): Promise<ConfigInDatabase | StoreProblem | null> {
  return (await import('../ledger/postgres/configs/shared-configs.ts')).readConfigAt(url, wanted);
}

/** Reads all stored configurations, newest first, in the same way. */
export async function readConfigHistory({ url }: AtServer, signal: AbortSignal) {
  return (await import('../ledger/postgres/configs/shared-configs.ts')).readHistoryAt(url, signal);
}

/** Opens a reader of the channels' cursors, in the same way. */
export async function openCursorReader(at: StorageAt): Promise<CursorReader | StoreProblem> {
  if (at.kind === 'file') {
    return (await import('../ledger/sqlite/read/cursors.ts')).openCursors(at.path);
  }
  const problem = await whyUnreadable(at);
  if (problem !== null) return problem;
  const { createPostgresCursors } = await import('../ledger/postgres/read/reader.ts');
  return createPostgresCursors(() => connectTo(at.url));
}

/**
 * Whether svc has made its tables there.
 * @returns a problem: the server does not answer
 */
export async function isMade(at: StorageAt): Promise<boolean | StoreProblem> {
  if (at.kind === 'file') return existsSync(at.path);
  const problem = await whyUnreadable(at);
  if (problem === null || problem.code === 'storage_older') return true;
  return problem.code === 'storage_missing' ? false : problem;
}

async function whyUnreadable({ url }: AtServer): Promise<StoreProblem | null> {
  return (await import('../ledger/postgres/server/inspection.ts')).schemaProblem(url);
}

/**
 * Copies a database, also while a service writes it; an existing file is never replaced.
 * @param path and target are absolute
 */
export async function backUpStorage(
  path: string,
  target: string,
): Promise<BackedUp | StoreProblem> {
  return (await import('../ledger/sqlite/files/backup.ts')).backUp(path, target);
}

/** Locks both. The target must be empty. */
export async function openMigration(
  from: StorageAt,
  to: StorageAt,
): Promise<Migration | StoreProblem> {
  return (await import('../ledger/migrate/open.ts')).openMigration(from, to);
}

/** How much is free on the disk of an existing folder, and how much a database there needs free. */
export async function roomOfDisk(folder: string): Promise<DiskRoom> {
  return (await import('../ledger/sqlite/files/examine.ts')).roomOfDisk(folder);
}

/** Examines an existing database without changing it. */
export async function examineStorage(path: string): Promise<Examined | StoreProblem> {
  return (await import('../ledger/sqlite/files/examine.ts')).examine(path);
}

/** Examines a server without changing it. */
export async function probeServer({ url }: AtServer): Promise<ServerProbe | StoreProblem> {
  return (await import('../ledger/postgres/server/inspection.ts')).probeServer(url);
}

/** For people: `database /var/lib/svc/svc.db`, `database "svc" on db.example:5432`. */
export async function describeStorage(at: StorageAt): Promise<string> {
  if (at.kind === 'file') return `database ${at.path}`;
  const named = await nameServer(at);
  return named.kind === 'server' ? named.text : 'database server';
}

/** The parts of a server's URL that people may see, and the password, which nobody may. */
export type NamedServer = {
  readonly kind: 'server';
  /** `database "svc" on db.example:5432`. */
  readonly text: string;
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  readonly database: string;
  /** null: it has none. */
  readonly password: string | null;
};

/** @returns a problem: the URL is unusable */
export async function nameServer({ url }: AtServer): Promise<NamedServer | StoreProblem> {
  const { readAddress } = await import('../ledger/postgres/server/address.ts');
  const address = readAddress(url);
  if (address.kind === 'problems') {
    const message = address.problems.join(' ');
    return { kind: 'problem', code: 'storage_url', message, isPassing: false };
  }
  const { hosts, user, database } = address;
  const password = address.password();
  return { kind: 'server', text: String(address), hosts, user, database, password };
}
