/**
 * The writer thread: the only one that writes the database. Each group that arrives becomes one
 * transaction, fsynced by its COMMIT; one answer goes back a group. Between groups it deletes what
 * is older than it need be, a few rows at a time, and tells how much room the disk has.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { migrate } from './migrations.ts';
import { freeBytesAt } from './place.ts';
import { statements, type FromWriter, type Group, type GroupDone } from './statements.ts';
import type { StatementName, ToWriter } from './statements.ts';
import { rowsAtOnce, sweep } from './sweep.ts';

export type WriterData = { readonly path: string; readonly retentionDays: number };

/** What SQLite calls `synchronous = FULL`. */
const fullSync = 2;
const diskEveryMs = 5_000;
const sweepEveryMs = 60_000;

const port = parentPort!;
const { path, retentionDays } = workerData as WriterData;
const tell = (message: FromWriter): void => port.postMessage(message);

function open(): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;');
    db.exec('PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000; PRAGMA secure_delete = FAST;');
    proveSync(db);
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * What a 200 promises rests on these two words, so SQLite is asked whether it took them: on some
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

function serve(db: DatabaseSync): void {
  const prepared = Object.fromEntries(
    Object.entries(statements).map(([name, sql]) => [name, db.prepare(sql)]),
  ) as Record<StatementName, ReturnType<DatabaseSync['prepare']>>;
  const remember = db.prepare(
    'INSERT INTO dedupe (channel, key, message_id, expires_at) VALUES (?, ?, ?, ?) ' +
      // A key that has expired counts as new, also before it has been swept away.
      'ON CONFLICT DO UPDATE SET message_id = excluded.message_id, ' +
      'expires_at = excluded.expires_at WHERE expires_at <= ?',
  );
  const recall = db.prepare('SELECT message_id AS id FROM dedupe WHERE channel = ? AND key = ?');
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');

  const run = ({ number, writes }: Group): GroupDone => {
    const known: [number, string][] = [];
    try {
      begin.run();
      for (const [place, write] of writes.entries()) {
        if (!('key' in write)) {
          const [name, ...values] = write;
          prepared[name].run(...values);
          continue;
        }
        const [name, ...values] = write.write;
        const [, id, channel, , acceptedAt] = values;
        const { key, expiresAt } = write;
        const { changes } = remember.run(channel!, key, id!, expiresAt, acceptedAt!);
        const fresh = changes > 0;
        if (fresh) prepared[name].run(...values);
        else known.push([place, (recall.get(channel!, key) as { id: string }).id]);
      }
      commit.run();
      return { kind: 'done', number, known };
    } catch (error) {
      // After some failures SQLite has rolled back by itself; a ROLLBACK would hide the cause.
      if (db.isTransaction) db.exec('ROLLBACK');
      return { kind: 'failed', number, message: (error as Error).message };
    }
  };

  /** A step at a time, so that groups that arrive meanwhile come between. */
  const sweepOn = (): void => {
    if (!db.isOpen) return;
    if (sweep(db, retentionDays, Date.now()) >= rowsAtOnce) setImmediate(sweepOn);
  };
  const sweeping = setInterval(sweepOn, sweepEveryMs);
  setImmediate(sweepOn);
  const looking = setInterval(tellDisk, diskEveryMs);
  port.on('message', (message: ToWriter) => {
    if (typeof message === 'string') return tell(run(JSON.parse(message) as Group));
    clearInterval(sweeping);
    clearInterval(looking);
    db.exec('UPDATE owner SET clean = 1');
    // With a reader beside it, closing does not fold the log into the database.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    tell({ kind: 'closed' });
    port.close();
  });
}

function tellDisk(): void {
  tell({ kind: 'disk', freeBytes: freeBytesAt(path) });
}

try {
  serve(open());
  tell({ kind: 'open' });
} catch (error) {
  const { errcode = 0, message, name } = error as Error & { errcode?: number };
  tell({ kind: 'unopened', errcode, message: `${name}: ${message}` });
  port.close();
}
