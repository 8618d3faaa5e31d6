/**
 * The writer, in a thread of its own (writer-thread.ts): nobody else writes the database. Each
 * group that arrives becomes one transaction, fsynced by its COMMIT; one answer goes back a group.
 * Between groups it deletes a few of the rows that have been kept long enough, puts a few turns
 * into the index that finds them again, and tells how much room the disk has.
 */
import { DatabaseSync } from 'node:sqlite';
import type { MessagePort } from 'node:worker_threads';
import { migrate, type Upgrade } from '../files/migrations.ts';
import { freeBytesAt, sqliteBusy } from '../files/database-files.ts';
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

// When the writer does what is nobody's message: it deletes what has been kept long enough, and
// takes in what is to be found again. That is now and then, and then in short steps. A step holds
// up the groups that arrive during it, so four times as long as it took belongs to them before the
// next one. Steps come at last whatever arrives: even slow ones do more in a second than hundreds
// of messages bring.

/** The steps take a fifth of the writer's time at most. */
const pauseFactor = 4;

type SweepingDeps = {
  /** @returns whether there may be more to do */
  readonly step: () => boolean;
  /** How long nothing is done once there is no more. */
  readonly everyMs: number;
  /** How long belongs to the groups between two steps at least; asked after each step. */
  readonly pauseMsMin?: () => number;
  readonly steady?: () => SteadyTime;
  /** Calls `act` once after so many milliseconds, unless what it returns is called before. */
  readonly after?: (ms: number, act: () => void) => () => void;
};

/** @returns ends it: no step is made any more */
export function beginSweeping({
  step,
  everyMs,
  pauseMsMin = () => 20,
  steady = steadyNow,
  after = afterArrivals,
}: SweepingDeps): () => void {
  let cancel = (): void => {};
  const go = (): void => {
    const begunAt = steady();
    const more = step();
    const tookMs = steady() - begunAt;
    const pauseMs = Math.max(pauseMsMin(), pauseFactor * tookMs);
    cancel = after(more ? pauseMs : everyMs, go);
  };
  cancel = after(0, go);
  return () => cancel();
}

/** What has arrived until then goes before. */
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

/** About a thousand messages a second. */
const writesPerMs = 5;

/** Whether so much is written just now that what can wait should wait for longer. */
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

  /** @returns whether there was a rush since this was asked last */
  isOver(): boolean {
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
  /** The database grows to so many pages (of 4 KiB); null: as far as there is room. */
  readonly pagesMax: number | null;
  readonly busyMs: number;
  /** The same while it is opened. */
  readonly lockedMs: number;
};

/** What SQLite calls `synchronous = FULL`. */
const fullSync = 2;
/** 256 MiB. */
const vacuumPagesMax = 65_536;
/** As many as SQLite would wait for. */
const foldPages = 1_000;
/** So long another program is waited for that has the database locked since the last try. */
const lockedWaitMs = 50;
const diskEveryMs = 5_000;
const sweepEveryMs = 60_000;
const indexEveryMs = 2_000;
/** Some 500 turns a second; of a rush most are taken in afterwards, and cost messages little. */
const indexPauseMs = { calm: 60, loadGauge: 400 };

/**
 * Opens the database, tells that it is open or why it is not, and does what the port asks for.
 * @returns ends it without a word, as the end of its thread does
 */
export function beginWriting(port: MessagePort, data: WriterData): () => void {
  const tell = (message: FromWriter): void => port.postMessage(message);
  try {
    const db = open(data, (upgrade) => tell({ kind: 'upgrading', ...upgrade }));
    const end = serve(db, port, data, tell);
    tell({ kind: 'open' });
    return () => {
      end();
      port.close();
      if (db.isOpen) db.close();
    };
  } catch (error) {
    const { errcode = 0, message, name } = error as Error & { errcode?: number };
    tell({ kind: 'unopened', errcode, message: `${name}: ${message}` });
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
    const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
    // Only a database without pages can take this; for any other it would be one commit more.
    if (pages === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    if (tellsLog(db)) db.exec('PRAGMA wal_autocheckpoint = 0');
    // What is deleted is overwritten, also where whole pages become free.
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
 * The promise of a 200 rests on WAL and full sync, so SQLite is asked whether it took them: on some
 * network file systems it does not.
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

/** What makes one transaction of a group. */
function prepareRun(db: DatabaseSync): (group: Group) => GroupDone {
  const prepared = Object.fromEntries(
    Object.entries(statements).map(([name, sql]) => [name, db.prepare(sql)]),
  ) as Record<StatementName, ReturnType<DatabaseSync['prepare']>>;
  const firstWithKey = prepareKeyedAccepts(db);
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
        const first = firstWithKey(write);
        const [name, ...values] = write.write;
        if (first === null) prepared[name].run(...values);
        else known.push([place, first]);
      }
      commit.run();
      return { kind: 'done', number, known, reservings };
    } catch (error) {
      // After some failures SQLite has rolled back by itself; a ROLLBACK would hide the cause.
      if (db.isTransaction) db.exec('ROLLBACK');
      if (isOf(error, sqliteFull)) return { kind: 'full', number };
      if (isOf(error, sqliteBusy)) return { kind: 'locked', number };
      return { kind: 'failed', number, message: (error as Error).message };
    }
  };
}

/** Whether SQLite says how long the log is; before 3.51 it took the question for a fold. */
function tellsLog(db: DatabaseSync): boolean {
  const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 3 || minor >= 51;
}

/**
 * Folds the log into the database when it has grown long. SQLite would do so by itself at a commit,
 * and would not tell of a failure in it: after a sync that failed, the next one saves less. An
 * older SQLite does it all the same.
 */
function prepareFold(db: DatabaseSync): () => void {
  if (!tellsLog(db)) return () => {};
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const fold = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  return () => {
    try {
      const { log, checkpointed } = look.get() as { log: number; checkpointed: number };
      // While somebody reads what is in the log, the rest of the log stays for the next time.
      if (log >= foldPages && checkpointed < log) fold.get();
    } catch (error) {
      if (!mayPass(error)) throw error;
    }
  };
}

/** @returns what ends the service: after its call nothing is asked of the database */
function serve(
  db: DatabaseSync,
  port: MessagePort,
  { path, retentionDays, busyMs }: WriterData,
  tell: (message: FromWriter) => void,
): () => void {
  const run = prepareRun(db);
  const fold = prepareFold(db);
  const index = openSearchIndex(db);
  let over = false;
  let waitMs = busyMs;
  const wait = (ms: number): void => db.exec(`PRAGMA busy_timeout = ${ms}`);
  /** What is nobody's message waits for no other program: there will be another time. */
  const unhurried = <T>(act: () => T): T => {
    wait(0);
    try {
      return act();
    } finally {
      wait(waitMs);
    }
  };
  /** A thread that waits in SQLite cannot be ended, and this is asked again every second. */
  const patience = (isLocked: boolean): void => {
    const ms = isLocked ? Math.min(busyMs, lockedWaitMs) : busyMs;
    if (ms !== waitMs) wait((waitMs = ms));
  };
  const sweepOn = (): boolean => {
    let more = false;
    try {
      const { rows, deadLetters } = unhurried(() => sweep(db, retentionDays, Date.now()));
      if (deadLetters.length > 0) tell({ kind: 'expired', ids: deadLetters });
      more = rows >= rowsAtOnce;
    } catch (error) {
      // Deleting needs some room first, and the database for itself.
      if (!mayPass(error)) throw error;
    }
    fold();
    return more;
  };
  const indexOn = (): boolean => {
    try {
      return unhurried(() => index.step());
    } catch (error) {
      if (!mayPass(error)) throw error;
      return false;
    } finally {
      fold();
    }
  };
  // Before the first turn there is nothing of before to be taken in.
  indexOn();
  const endSweeping = beginSweeping({ step: sweepOn, everyMs: sweepEveryMs });
  const loadGauge = new LoadGauge();
  const endIndexing = beginSweeping({
    step: indexOn,
    everyMs: indexEveryMs,
    pauseMsMin: () => (loadGauge.isOver() ? indexPauseMs.calm : indexPauseMs.loadGauge),
  });
  const tellDisk = (): void => tell({ kind: 'disk', freeBytes: freeBytesAt(path) });
  const looking = setInterval(tellDisk, diskEveryMs);
  /** From now on nothing is asked of the database: after a failed fsync not even to close it. */
  const end = (): void => {
    over = true;
    endSweeping();
    endIndexing();
    clearInterval(looking);
  };
  port.on('message', (message: ToWriter) => {
    if (over) return;
    if (typeof message === 'string') {
      const group = JSON.parse(message) as Group;
      const done = run(group);
      patience(done.kind === 'locked');
      loadGauge.wrote(group.writes.length);
      if (done.kind === 'failed') end();
      tell(done);
      if (!over) fold();
      return;
    }
    if (message.kind === 'checkpoint') return tell(checkpoint(db, index, message.of, busyMs));
    end();
    markClean(db);
    // With a reader beside it, closing does not fold the log into the database.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    tell({ kind: 'closed' });
    port.close();
  });
  return end;
}

/**
 * When SQLite moves rows from page to page it leaves stale bytes of them in the free part of a
 * page, which only a VACUUM overwrites. A VACUUM holds up the groups behind it, so a large database
 * is spared. Readers are not waited for.
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
    // A VACUUM takes as much room again. What was deleted is overwritten in place even so.
    if (!mayPass(error)) throw error;
  }
}

/** Where the mark cannot be made the next start takes this stop for a crash, and repeats work. */
function markClean(db: DatabaseSync): void {
  try {
    db.exec('UPDATE owner SET clean = 1');
  } catch (error) {
    if (!mayPass(error)) throw error;
  }
}

/** There will be room later, or another program will have let the database go. */
function mayPass(error: unknown): boolean {
  return isOf(error, sqliteFull) || isOf(error, sqliteBusy);
}

function isOf(error: unknown, errcode: number): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === errcode;
}

/** Messages with a key: whether one came before, and whether it said the same. */
const remember =
  'INSERT INTO dedupe (channel, key, message_id, expires_at, fingerprint) ' +
  'VALUES (?, ?, ?, ?, ?) ' +
  // A key that has expired counts as new, also before it has been swept away.
  'ON CONFLICT DO UPDATE SET message_id = excluded.message_id, ' +
  'expires_at = excluded.expires_at, fingerprint = excluded.fingerprint WHERE expires_at <= ?';

// Without a fingerprint on either side there is nothing to compare.
const recall =
  'SELECT message_id AS id, coalesce(fingerprint <> ?, 0) AS reused FROM dedupe ' +
  'WHERE channel = ? AND key = ?';

const differs = (field: string): string => `was.body -> '${field}' IS NOT ?5 -> '${field}'`;

const saysElse = ['$.sender', '$.text', '$.media'].map(differs).join(' OR ');

/**
 * By a key of before, which was the sender's word alone. What the message itself still tells counts
 * as well; once it is gone its key is known whoever comes with it.
 */
const recallFormer =
  `SELECT was.id IS NOT NULL AND (${saysElse}) AS reused, ` +
  'message_id AS id FROM dedupe LEFT JOIN inbox AS was ON was.id = message_id ' +
  'WHERE dedupe.channel = ?1 AND key = ?2 AND fingerprint IS NULL AND expires_at > ?3 ' +
  `AND (was.id IS NULL OR (was.conversation = ?4 AND NOT (${differs('$.sender.id')})))`;

/**
 * @returns what remembers the key of a message, or tells which message came before with it; within
 *   the transaction that writes the message
 */
function prepareKeyedAccepts(db: DatabaseSync): (keyed: KeyedAccept) => KnownMessage | null {
  const remembering = db.prepare(remember);
  const recalling = db.prepare(recall);
  const recallingFormer = db.prepare(recallFormer);
  const { until } = db.prepare('SELECT former_keys_until AS until FROM owner').get() as {
    until: number;
  };
  const told = (row: Record<string, Value>): KnownMessage => {
    return { id: String(row['id']), reused: row['reused'] === 1 };
  };
  return ({ key, expiresAt, check, write }) => {
    const [, , id, channel, conversation, acceptedAt, body] = write;
    if (check !== null && Number(acceptedAt) < until) {
      const { formerKey } = check;
      const asked = [channel!, formerKey, acceptedAt!, conversation!, body!];
      const former = recallingFormer.get(...asked);
      if (former !== undefined) return told(former as Record<string, Value>);
    }
    const fingerprint = check?.fingerprint ?? null;
    const { changes } = remembering.run(channel!, key, id!, expiresAt, fingerprint, acceptedAt!);
    if (changes > 0) return null;
    return told(recalling.get(fingerprint, channel!, key) as Record<string, Value>);
  };
}
