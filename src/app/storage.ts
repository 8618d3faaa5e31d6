/**
 * The ledger's forms by name: opened by the service, and read, copied or examined by commands
 * beside it. A form is loaded only where it is chosen.
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
import type { Peers } from '../cluster/peers.ts';
import type { SharedView } from '../cluster/shared-view.ts';
import type { StoreProblem, Ledger, LedgerReader, LedgerNews } from '../ledger/ledger.ts';
import type { KeptRow, SharedConfig, SharedConfigs } from '../cluster/shared-configs.ts';
import type { StartWriter } from '../ledger/sqlite/write/start-writer.ts';

export type { Examined, Migration, ServerProbe, StartWriter, StoreProblem };

/** A place that can be opened. */
export type StorageAt =
  /** Absolute. */
  | { readonly kind: 'file'; readonly path: string }
  /** A secret, of which `nameServer` says what may be told. */
  | { readonly kind: 'server'; readonly url: string };

export type AtServer = Extract<StorageAt, { readonly kind: 'server' }>;

/** @param secrets hold the URL of a server, or it is told as one that cannot be used */
export function storageAt(place: StoragePlace | null, secrets: Secrets): StorageAt | null {
  if (place?.kind !== 'server') return place;
  return { kind: 'server', url: secrets.get(place.urlEnv) ?? '' };
}

export type LedgerChoice = Clock & {
  readonly storage: StorageConfig | null;
  /** null: in memory. */
  readonly at: StorageAt | null;
  readonly ids: IdSource;
  /** Of this program. */
  readonly version: string;
  /** Stamps what was kept before there were stamps; null: a message is not worked on. */
  readonly publicNow: PublicNow | null;
  /** The storage failed for good: nothing more is accepted. */
  readonly failed: (error: unknown) => void;
  readonly news: LedgerNews;
  /** Is told what the clock shows that all instances on that storage go by; left out: nobody is. */
  readonly follow?: (reading: ClockReading) => void;
  /** Who writes to the disk; left out: a thread that is begun then. */
  readonly startWriter?: StartWriter | undefined;
};

/**
 * The reader is closed after the ledger; to close one does not close the other. `peers` are the
 * other instances on that ledger, until it is closed; `view` is what they tell each other for
 * people, and null where there can be none.
 */
export type OpenStore = {
  readonly ledger: Ledger;
  readonly reader: LedgerReader;
  readonly peers: Peers;
  /** The configuration that all instances share; null: each process has its own file. */
  readonly configs: (SharedConfigs & AsyncDisposable) | null;
  readonly view: SharedView | null;
};

/** A thread that writes once it is started. */
export type Begun = AsyncDisposable & { readonly start: StartWriter };

/**
 * Begins what takes a database longest to open, and opens nothing: for who is about to open one.
 * What is not given to `openLedger` is to be disposed of.
 */
export async function beginStorage(): Promise<Begun> {
  const { WriterThread } = await import('../ledger/sqlite/write/start-writer.ts');
  return new WriterThread();
}

/** In the form of the place. */
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
  return { ledger, reader, peers: createAlone(), configs: null, view: null };
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
  return {
    ledger,
    reader: createThreadReader(path),
    peers: createAlone(),
    configs: null,
    view: null,
  };
}

async function openServer(
  { ids, version, now, steady, news, failed: onFault, follow }: LedgerChoice,
  { retentionDays }: StorageConfig,
  url: string,
): Promise<OpenStore | StoreProblem> {
  const [{ openPostgresStore }, { createPostgresConfigs }, reader] = await Promise.all([
    import('../ledger/postgres/postgres.ts'),
    import('../ledger/postgres/configs/shared-configs.ts'),
    readerOfServer(url),
  ]);
  const options = { url, retentionDays, version, now, steady, ids, news, onFault, follow };
  const store = await openPostgresStore(options);
  if ('kind' in store) return store;
  const instance = store.peers.id;
  const configs = createPostgresConfigs(() => connectTo(url, configConnectMs), { instance });
  return { ...store, reader, configs, view: await viewOfServer(url) };
}

/** It connects when something is told. */
async function viewOfServer(url: string): Promise<SharedView> {
  const [{ createSharedView }, { connect }] = await Promise.all([
    import('../ledger/postgres/view/shared-view.ts'),
    import('../ledger/postgres/server/connect.ts'),
  ]);
  return createSharedView((signal) => connect(url, { signal, timeoutMs: viewConnectMs }));
}
const viewConnectMs = 5_000;

/** It connects when it is asked. */
async function readerOfServer(url: string): Promise<LedgerReader> {
  const { createPostgresReader } = await import('../ledger/postgres/read/reader.ts');
  return createPostgresReader(() => connectTo(url));
}

const configConnectMs = 5_000;

/** @param timeoutMs left out: as usual */
async function connectTo(url: string, timeoutMs?: number) {
  const { connect } = await import('../ledger/postgres/server/connect.ts');
  return connect(url, timeoutMs === undefined ? {} : { timeoutMs });
}

/** Closes all of it, the ledger first; a failure to close one does not keep another open. */
export async function closeLedger({
  ledger,
  reader,
  configs,
  view,
}: Pick<OpenStore, 'ledger' | 'reader' | 'configs' | 'view'>): Promise<void> {
  await using opened = new AsyncDisposableStack();
  opened.use(view);
  opened.use(configs);
  opened.use(reader);
  opened.use(ledger);
}

/** Reads what is kept there beside the service that runs on it, or while none does. */
export async function openReader(at: StorageAt): Promise<LedgerReader | StoreProblem> {
  if (at.kind === 'file') {
    const { openSqliteReader } = await import('../ledger/sqlite/read/reader.ts');
    return openSqliteReader(at.path);
  }
  return (await whyUnreadable(at)) ?? readerOfServer(at.url);
}

/** The configuration that instances share there, while they run or not; null: there is none. */
export async function readSharedConfig(
  { url }: AtServer,
  wanted: ConfigWanted = {},
): Promise<SharedConfig | StoreProblem | null> {
  return (await import('../ledger/postgres/configs/shared-configs.ts')).readConfigAt(url, wanted);
}

/** All that are kept there, newest first, in the same way. */
export async function readSharedHistory(
  { url }: AtServer,
  signal: AbortSignal,
): Promise<readonly KeptRow[] | StoreProblem | null> {
  return (await import('../ledger/postgres/configs/shared-configs.ts')).readHistoryAt(url, signal);
}

/** Reads what channels noted there, in the same way. */
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
 * @returns a problem: a server cannot be asked
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

/** Locks both; the target holds nothing yet. */
export async function openMigration(
  from: StorageAt,
  to: StorageAt,
): Promise<Migration | StoreProblem> {
  return (await import('../ledger/migrate/open.ts')).openMigration(from, to);
}

/** What is free on the disk of a folder that exists, and what a database there must have free. */
export async function roomOfDisk(folder: string): Promise<DiskRoom> {
  return (await import('../ledger/sqlite/files/examine.ts')).roomOfDisk(folder);
}

/** What a look at an existing database tells; it changes nothing. */
export async function examineStorage(path: string): Promise<Examined | StoreProblem> {
  return (await import('../ledger/sqlite/files/examine.ts')).examine(path);
}

/** What a look at a server tells; it changes nothing. */
export async function probeServer({ url }: AtServer): Promise<ServerProbe | StoreProblem> {
  return (await import('../ledger/postgres/server/inspection.ts')).probeServer(url);
}

/** For people: `database /var/lib/svc/svc.db`, `database "svc" on db.example:5432`. */
export async function describeStorage(at: StorageAt): Promise<string> {
  if (at.kind === 'file') return `database ${at.path}`;
  const named = await nameServer(at);
  return named.kind === 'server' ? named.text : 'database server';
}

/** What of a server's URL a person may be told, and the password, which nobody is. */
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

/** @returns a problem: the URL cannot be used */
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
