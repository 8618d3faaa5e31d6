/**
 * The writer, in a thread of its own (writer-thread.ts). Only this thread writes the database. Each
 * group becomes one transaction, fsynced by its COMMIT, with one answer. Between groups the writer
 * sweeps expired rows, fills the search index, and reports the free space on the disk.
 */
import { DatabaseSync } from 'node:sqlite';
import type { MessagePort } from 'node:worker_threads';
import { migrate, type Upgrade } from '../files/migrations.ts';
import { freeBytesAt, rewriteLog, sqliteBusy } from '../files/database-files.ts';
import { sqliteFull } from '../files/problem.ts';
import {
  isPlain,
  statements,
  type FromWriter,
  type Group,
  type GroupDone,
  type KnownMessage,
  type StatementName,
  type ToWriter,
  type KeyedAccept,
  type Value,
} from './statements.ts';
import { prepareReservations } from './turn-writes.ts';
import type { Reserving } from '../../ledger.ts';
import { rowsAtOnce, sweep } from './sweep.ts';
import { openSearchIndex, type SearchIndex } from './search-index.ts';
import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';

// The background work of the writer: the sweep and the search index. It runs now and then, in short
// steps, since a step delays the groups that arrive during it. After a step, four times its
// duration belongs to the groups. Steps do happen under load: even slow ones do more in a second
// than hundreds of messages bring.

/** Steps take at most a fifth of the writer's time. */
const pauseFactor = 4;

type SweepingDeps = {
  /** @returns whether there may be more work */
  readonly step: () => boolean;
  /** The pause when there is no more work. */
  readonly everyMs: number;
  /** The shortest pause between two steps; called after each step. */
  readonly pauseMsMin?: () => number;
  readonly steady?: () => SteadyTime;
  /** Calls `act` once after `ms` milliseconds. @returns a function that cancels the call */
  readonly after?: (ms: number, act: () => void) => () => void;
};

/** @returns a function that ends the steps */
export function beginSweeping({
  step,
  everyMs,
  pauseMsMin = () => 20,
  steady = steadyNow,
  after = afterArrivals,
}: SweepingDeps): () => void {
  let cancel = (): void => {};
  const runStep = (): void => {
    const begunAt = steady();
    const more = step();
    const tookMs = steady() - begunAt;
    const pauseMs = Math.max(pauseMsMin(), pauseFactor * tookMs);
    cancel = after(more ? pauseMs : everyMs, runStep);
  };
  cancel = after(0, runStep);
  return () => cancel();
}

/** Lets groups that have arrived by then go first. */
function afterArrivals(ms: number, act: () => void): () => void {
  let arrived: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    arrived = setImmediate(act);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(arrived);
  };
}

/** The rate of about a thousand messages a second. */
const writesPerMs = 5;

/** Whether the writing load is so high that background work should pause for longer. */
export class LoadGauge {
  readonly #steady: () => SteadyTime;
  #writes = 0;
  #countedAt: SteadyTime;

  constructor(steady: () => SteadyTime = steadyNow) {
    this.#steady = steady;
    this.#countedAt = steady();
  }

  wrote(writes: number): void {
    this.#writes += writes;
  }

  /** @returns whether the load was low since the last call */
  isCalm(): boolean {
    const at = this.#steady();
    const isBusy = this.#writes > writesPerMs * (at - this.#countedAt);
    this.#writes = 0;
    this.#countedAt = at;
    return !isBusy;
  }
}

export type WriterData = {
  readonly path: string;
  readonly retentionDays: number;
  /** The most pages (of 4 KiB) of the database; null: no limit but the disk. */
  readonly pagesMax: number | null;
  readonly busyMs: number;
  /** `busyMs` while the database is opened. */
  readonly lockedMs: number;
};

/** SQLite's number for `synchronous = FULL`. */
const fullSync = 2;
/** 256 MiB. */
const vacuumPagesMax = 65_536;
/** SQLite's own default for `wal_autocheckpoint`. */
const foldPages = 1_000;
/** How long to wait for another program that has locked the database since the last attempt. */
const lockedWaitMs = 50;
const diskEveryMs = 5_000;
const sweepEveryMs = 60_000;
const indexEveryMs = 2_000;
/**
 * About 500 turns a second. Under high load most turns enter the index later, at little cost for
 * messages.
 */
const indexPauseMs = { calm: 60, busy: 400 };

/**
 * Opens the database, reports success or the reason of failure, and serves the port.
 * @returns a function that ends it without a message, as the end of its thread does
 */
export function beginWriting(port: MessagePort, data: WriterData): () => void {
  const send = (message: FromWriter): void => port.postMessage(message);
  try {
    const db = open(data, (upgrade) => send({ kind: 'upgrading', ...upgrade }));
    const end = serve(db, port, data, send);
    send({ kind: 'open' });
    return () => {
      end();
      port.close();
      if (db.isOpen) db.close();
    };
  } catch (error) {
    const {
      errcode = 0,
      code,
      message,
      name,
    } = error as NodeJS.ErrnoException & {
      errcode?: number;
    };
    send({ kind: 'unopened', errcode, code, message: `${name}: ${message}` });
    port.close();
    return () => {};
  }
}

function open(
  { path, pagesMax, busyMs, lockedMs }: WriterData,
  upgrading: (upgrade: Upgrade) => void,
): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: lockedMs });
  try {
    rewriteLog(db, path);
    const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
    // Only a database without pages can take this setting. For any other it would be an extra
    // commit.
    if (pages === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    if (reportsLogLength(db)) db.exec('PRAGMA wal_autocheckpoint = 0');
    // Overwrites deleted rows, also when whole pages become free.
    db.exec('PRAGMA secure_delete = ON;');
    proveSync(db);
    if (pagesMax !== null) db.exec(`PRAGMA max_page_count = ${pagesMax}`);
    migrate(db, upgrading);
    db.exec(`PRAGMA busy_timeout = ${busyMs}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Checks that SQLite has accepted WAL and full sync: the promise of a 200 depends on them. Some
 * network file systems do not support them.
 */
function proveSync(db: DatabaseSync): void {
  const { journal_mode: mode } = db.prepare('PRAGMA journal_mode').get() as {
    journal_mode: string;
  };
  const { synchronous } = db.prepare('PRAGMA synchronous').get() as { synchronous: number };
  if (mode !== 'wal' || synchronous !== fullSync) {
    throw new Error('its file system cannot keep what was promised (WAL with full sync)');
  }
}

/** Prepares the function that writes a group as one transaction. */
function prepareRun(db: DatabaseSync): (group: Group) => GroupDone {
  const prepared = Object.fromEntries(
    Object.entries(statements).map(([name, sql]) => [name, db.prepare(sql)]),
  ) as Record<StatementName, ReturnType<DatabaseSync['prepare']>>;
  const acceptKeyed = prepareKeyedAccepts(db);
  const reserve = prepareReservations(db);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');

  return ({ number, writes }) => {
    const known: [number, KnownMessage][] = [];
    const reservings: [number, Reserving][] = [];
    try {
      begin.run();
      for (const [place, write] of writes.entries()) {
        if (isPlain(write)) {
          const [name, ...values] = write;
          prepared[name].run(...values);
          continue;
        }
        if ('limits' in write) {
          reservings.push([place, reserve(write)]);
          continue;
        }
        const first = acceptKeyed(write);
        const [name, ...values] = write.write;
        if (first === null) prepared[name].run(...values);
        else known.push([place, first]);
      }
      commit.run();
      return { kind: 'done', number, known, reservings };
    } catch (error) {
      // After some failures SQLite has already rolled back. A ROLLBACK would then hide the cause.
      if (db.isTransaction) db.exec('ROLLBACK');
      if (isOf(error, sqliteFull)) return { kind: 'full', number };
      if (isOf(error, sqliteBusy)) return { kind: 'locked', number };
      return { kind: 'failed', number, message: (error as Error).message };
    }
  };
}

/** Whether SQLite can report the length of the log. Before 3.51 the same request folded the log. */
function reportsLogLength(db: DatabaseSync): boolean {
  const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 3 || minor >= 51;
}

/**
 * Folds the log into the database when it has grown long. SQLite would do this itself at a commit,
 * but would not report its failure. After a failed sync, the next one saves less. An older SQLite
 * still folds by itself.
 */
function prepareFold(db: DatabaseSync): () => void {
  if (!reportsLogLength(db)) return () => {};
  const readLog = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const fold = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  return () => {
    try {
      const { log, checkpointed } = readLog.get() as { log: number; checkpointed: number };
      // While a reader uses the log, the rest of it stays for the next time.
      if (log >= foldPages && checkpointed < log) fold.get();
    } catch (error) {
      if (!mayPass(error)) throw error;
    }
  };
}

/** @returns a function that ends the service: after its call nothing uses the database */
function serve(
  db: DatabaseSync,
  port: MessagePort,
  { path, retentionDays, busyMs }: WriterData,
  send: (message: FromWriter) => void,
): () => void {
  const run = prepareRun(db);
  const fold = prepareFold(db);
  const index = openSearchIndex(db);
  let hasEnded = false;
  let waitMs = busyMs;
  const setBusyTimeout = (ms: number): void => db.exec(`PRAGMA busy_timeout = ${ms}`);
  /** Background work does not wait for other programs: it can run another time. */
  const withoutWaiting = <T>(act: () => T): T => {
    setBusyTimeout(0);
    try {
      return act();
    } finally {
      setBusyTimeout(waitMs);
    }
  };
  /** A thread that waits in SQLite cannot be ended, and the group is sent again every second. */
  const adaptBusyTimeout = (isLocked: boolean): void => {
    const ms = isLocked ? Math.min(busyMs, lockedWaitMs) : busyMs;
    if (ms !== waitMs) setBusyTimeout((waitMs = ms));
  };
  const sweepStep = (): boolean => {
    let more = false;
    try {
      const { rows, deadLetters } = withoutWaiting(() => sweep(db, retentionDays, Date.now()));
      if (deadLetters.length > 0) send({ kind: 'expired', ids: deadLetters });
      more = rows >= rowsAtOnce;
    } catch (error) {
      // Deleting needs some room first, and needs the database unlocked.
      if (!mayPass(error)) throw error;
    }
    fold();
    return more;
  };
  const indexStep = (): boolean => {
    try {
      return withoutWaiting(() => index.step());
    } catch (error) {
      if (!mayPass(error)) throw error;
      return false;
    } finally {
      fold();
    }
  };
  // One step before any group: a new database has no older turns to index then.
  indexStep();
  const endSweeping = beginSweeping({ step: sweepStep, everyMs: sweepEveryMs });
  const loadGauge = new LoadGauge();
  const endIndexing = beginSweeping({
    step: indexStep,
    everyMs: indexEveryMs,
    pauseMsMin: () => (loadGauge.isCalm() ? indexPauseMs.calm : indexPauseMs.busy),
  });
  const sendDisk = (): void => send({ kind: 'disk', freeBytes: freeBytesAt(path) });
  const diskTimer = setInterval(sendDisk, diskEveryMs);
  /** From now on nothing uses the database. After a failed fsync it is not even closed. */
  const end = (): void => {
    hasEnded = true;
    endSweeping();
    endIndexing();
    clearInterval(diskTimer);
  };
  port.on('message', (message: ToWriter) => {
    if (hasEnded) return;
    if (typeof message === 'string') {
      const group = JSON.parse(message) as Group;
      const done = run(group);
      adaptBusyTimeout(done.kind === 'locked');
      loadGauge.wrote(group.writes.length);
      if (done.kind === 'failed') end();
      send(done);
      if (!hasEnded) fold();
      return;
    }
    if (message.kind === 'checkpoint') return send(checkpoint(db, index, message.of, busyMs));
    end();
    markClean(db);
    // While a reader has it open, closing does not fold the log into the database.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    send({ kind: 'closed' });
    port.close();
  });
  return end;
}

/**
 * Empties the log, and rewrites the database first if asked. When SQLite moves rows between pages,
 * it leaves old bytes in the free part of a page. Only a VACUUM overwrites those. A VACUUM delays
 * the groups behind it, so a large database is spared. Readers are not waited for.
 */
function checkpoint(
  db: DatabaseSync,
  index: SearchIndex,
  of: 'vacuum' | 'log',
  busyMs: number,
): FromWriter {
  if (of === 'vacuum') vacuum(db, index);
  db.exec('PRAGMA busy_timeout = 0');
  const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
  db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  return { kind: 'checkpointed', whole: busy === 0 };
}

function vacuum(db: DatabaseSync, index: SearchIndex): void {
  const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
  if (pages > vacuumPagesMax) return;
  try {
    index.rewrite();
    db.exec('VACUUM');
  } catch (error) {
    // A VACUUM needs as much room again. Deleted rows are overwritten in place even without it.
    if (!mayPass(error)) throw error;
  }
}

/** Marks an orderly stop. Without the mark the next start assumes a crash, and repeats work. */
function markClean(db: DatabaseSync): void {
  try {
    db.exec('UPDATE owner SET clean = 1');
  } catch (error) {
    if (!mayPass(error)) throw error;
  }
}

/**
 * Whether an error may pass: there may be room later, or the other program may release the
 * database.
 */
function mayPass(error: unknown): boolean {
  return isOf(error, sqliteFull) || isOf(error, sqliteBusy);
}

function isOf(error: unknown, errcode: number): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === errcode;
}

/** Stores a key, unless a message with it came before. */
const storeKey =
  'INSERT INTO dedupe (channel, key, message_id, expires_at, fingerprint) ' +
  'VALUES (?, ?, ?, ?, ?) ' +
  // An expired key counts as new, even before the sweep deletes it.
  'ON CONFLICT DO UPDATE SET message_id = excluded.message_id, ' +
  'expires_at = excluded.expires_at, fingerprint = excluded.fingerprint WHERE expires_at <= ?';

// Without a fingerprint on both sides there is nothing to compare.
const findByKey =
  'SELECT message_id AS id, coalesce(fingerprint <> ?, 0) AS reused FROM dedupe ' +
  'WHERE channel = ? AND key = ?';

const differs = (field: string): string => `was.body -> '${field}' IS NOT ?5 -> '${field}'`;

const hasOtherContent = ['$.sender', '$.text', '$.media'].map(differs).join(' OR ');

/**
 * Finds a message by a key from an older release, which was the sender's word alone. The stored
 * message's own fields count as well. Once the message is gone, the key counts for any sender.
 */
const findByFormerKey =
  `SELECT was.id IS NOT NULL AND (${hasOtherContent}) AS reused, ` +
  'message_id AS id FROM dedupe LEFT JOIN inbox AS was ON was.id = message_id ' +
  'WHERE dedupe.channel = ?1 AND key = ?2 AND fingerprint IS NULL AND expires_at > ?3 ' +
  `AND (was.id IS NULL OR (was.conversation = ?4 AND NOT (${differs('$.sender.id')})))`;

/**
 * Prepares the check of keys. It runs within the transaction that writes the message.
 * @returns a function that stores a message's key, or returns the earlier message with that key
 */
function prepareKeyedAccepts(db: DatabaseSync): (keyed: KeyedAccept) => KnownMessage | null {
  const storing = db.prepare(storeKey);
  const finding = db.prepare(findByKey);
  const findingFormer = db.prepare(findByFormerKey);
  const { until } = db.prepare('SELECT former_keys_until AS until FROM owner').get() as {
    until: number;
  };
  const knownOf = (row: Record<string, Value>): KnownMessage => {
    return { id: String(row['id']), reused: row['reused'] === 1 };
  };
  return ({ key, expiresAt, check, write }) => {
    const [, , id, channel, conversation, acceptedAt, body] = write;
    if (check !== null && Number(acceptedAt) < until) {
      const { formerKey } = check;
      const values = [channel!, formerKey, acceptedAt!, conversation!, body!];
      const former = findingFormer.get(...values);
      if (former !== undefined) return knownOf(former as Record<string, Value>);
    }
    const fingerprint = check?.fingerprint ?? null;
    const { changes } = storing.run(channel!, key, id!, expiresAt, fingerprint, acceptedAt!);
    if (changes > 0) return null;
    return knownOf(finding.get(fingerprint, channel!, key) as Record<string, Value>);
  };
}
