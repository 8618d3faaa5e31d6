/**
 * Opens a database for reading, whether a service runs on it or not. It takes no lock and never
 * writes.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ReadFailed, type LedgerReader, type StoreProblem } from '../../ledger.ts';
import { sqliteLimits } from '../ledger/limits.ts';
import { applicationId, migrationFiles } from '../files/migrations.ts';
import { missingProblem, olderProblem, problemOf } from '../files/problem.ts';
import { readerOver } from '../../read/questions.ts';
import { runRead } from './reads.ts';

/**
 * Opens a database for reading, on this thread.
 * @param path absolute
 * @returns a problem when there is no database, it cannot be read, or its schema is not of this svc
 */
export function openSqliteReader(path: string): LedgerReader | StoreProblem {
  const db = openForReading(path);
  if ('kind' in db) return db;
  return readerOver(
    async (question, asked) => {
      try {
        return runRead(db, question, asked);
      } catch (error) {
        throw new ReadFailed('storage', problemOf(path, error as Error).message);
      }
    },
    async () => db.close(),
  );
}

/** Opens only the connection. */
export function openForReading(path: string): DatabaseSync | StoreProblem {
  if (!existsSync(path)) return missingProblem(path);
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: sqliteLimits.busyMs });
    const problem = schemaProblem(db, path);
    if (problem === null) return db;
    db.close();
    return problem;
  } catch (error) {
    db?.close();
    return problemOf(path, error as Error);
  }
}

function schemaProblem(db: DatabaseSync, path: string): StoreProblem | null {
  const numberOf = (pragma: string): number =>
    Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
  const tables = Number(db.prepare('SELECT count(*) AS n FROM sqlite_master').get()?.['n']);
  if (numberOf('application_id') !== applicationId && tables > 0) {
    return problemOf(path, { message: 'ForeignDatabase' });
  }
  const version = numberOf('user_version');
  const known = migrationFiles().length;
  if (version > known) return problemOf(path, { message: 'NewerSchema' });
  return version < known ? olderProblem(path) : null;
}
