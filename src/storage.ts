/**
 * The ledger's forms by name: opened by the service, and read, copied or examined by commands
 * beside it. A form is loaded only where it is chosen.
 */
import type { StorageConfig } from './config/config.ts';
import type { IdSource } from './domain/ids.ts';
import type { BackedUp } from './store/sqlite/files/backup.ts';
import type { Clock } from './lib/clock.ts';
import type { CursorReader } from './store/sqlite/read/cursors.ts';
import type { DiskRoom, Examined } from './store/sqlite/files/examine.ts';
import type { PublicNow } from './store/sqlite/ledger/stamps.ts';
import { createAlone } from './store/alone.ts';
import type { Peers } from './store/peers.ts';
import type { StoreProblem } from './store/problem.ts';
import type { Ledger, LedgerReader } from './store/store.ts';
import type { LedgerNews } from './store/news.ts';
import type { StartWriter } from './store/sqlite/write/start-writer.ts';

export type { StartWriter };

export type LedgerChoice = Clock & {
  readonly storage: StorageConfig | null;
  /** Absolute; null: in memory. */
  readonly path: string | null;
  readonly ids: IdSource;
  /** Stamps what was kept before there were stamps; null: a message is not worked on. */
  readonly publicNow: PublicNow | null;
  /** The storage failed for good: nothing more is accepted. */
  readonly failed: (error: unknown) => void;
  readonly news: LedgerNews;
  /** Who writes to the disk; left out: a thread that is begun then. */
  readonly startWriter?: StartWriter | undefined;
};

/**
 * The reader is closed after the ledger; to close one does not close the other. `peers` are the
 * other instances on that ledger, until it is closed.
 */
export type OpenStore = {
  readonly ledger: Ledger;
  readonly reader: LedgerReader;
  readonly peers: Peers;
};

/** A thread that writes once it is started. */
export type Begun = AsyncDisposable & { readonly start: StartWriter };

/**
 * Begins what takes a database longest to open, and opens nothing: for who is about to open one.
 * What is not given to `openLedger` is to be disposed of.
 */
export async function beginStorage(): Promise<Begun> {
  const { WriterThread } = await import('./store/sqlite/write/start-writer.ts');
  return new WriterThread();
}

/** SQLite where a path is given, else memory. */
export async function openLedger(choice: LedgerChoice): Promise<OpenStore | StoreProblem> {
  const { storage, path, publicNow, ids, now, steady, news } = choice;
  if (storage === null || path === null) {
    const [{ createMemoryLedger }, { createMemoryReader }, { StoryRing }] = await Promise.all([
      import('./store/memory/memory.ts'),
      import('./store/memory/reader.ts'),
      import('./store/memory/story-ring.ts'),
    ]);
    const stories = new StoryRing();
    const reader = createMemoryReader(stories);
    const ledger = createMemoryLedger({ now, steady, ids, stories, news });
    return { ledger, reader, peers: createAlone() };
  }
  const [{ openSqliteLedger }, { createThreadReader }] = await Promise.all([
    import('./store/sqlite/sqlite.ts'),
    import('./store/sqlite/read/thread-reader.ts'),
  ]);
  const { retentionDays } = storage;
  const onFault = choice.failed;
  const { startWriter } = choice;
  const options = { path, retentionDays, publicNow, now, steady, ids, news, onFault, startWriter };
  const ledger = await openSqliteLedger(options);
  if ('kind' in ledger) return ledger;
  return { ledger, reader: createThreadReader(path), peers: createAlone() };
}

/** Closes both, the ledger first; a failure to close one does not keep the other open. */
export async function closeLedger({
  ledger,
  reader,
}: Pick<OpenStore, 'ledger' | 'reader'>): Promise<void> {
  await using opened = new AsyncDisposableStack();
  opened.use(reader);
  opened.use(ledger);
}

/**
 * Reads a database beside the service that runs on it, or while none does.
 * @param path absolute
 */
export async function openReader(path: string): Promise<LedgerReader | StoreProblem> {
  const { openSqliteReader } = await import('./store/sqlite/read/reader.ts');
  return openSqliteReader(path);
}

/** Reads what channels noted in a database, in the same way. */
export async function openCursorReader(path: string): Promise<CursorReader | StoreProblem> {
  return (await import('./store/sqlite/read/cursors.ts')).openCursors(path);
}

/**
 * Copies a database, also while a service writes it; an existing file is never replaced.
 * @param path and target are absolute
 */
export async function backUpStorage(
  path: string,
  target: string,
): Promise<BackedUp | StoreProblem> {
  return (await import('./store/sqlite/files/backup.ts')).backUp(path, target);
}

/** What is free on the disk of a folder that exists, and what a database there must have free. */
export async function roomOfDisk(folder: string): Promise<DiskRoom> {
  return (await import('./store/sqlite/files/examine.ts')).roomOfDisk(folder);
}

/** What a look at an existing database tells; it changes nothing. */
export async function examineStorage(path: string): Promise<Examined | StoreProblem> {
  return (await import('./store/sqlite/files/examine.ts')).examine(path);
}
