/** The schema's history: numbered SQL files. Each is applied once, in order, in one transaction. */
import type { DatabaseSync } from 'node:sqlite';
import { steps } from './steps.ts';

/** "svc1" in ASCII: marks a database of svc (SQLite's `application_id`). */
export const applicationId = 0x73766331;

/** The file names in order. The number of the last is the schema's version. */
export function migrationFiles(): readonly string[] {
  return steps.map(({ name }) => name);
}

/** Errors come from the writer's thread as texts, so only their names distinguish them. */
export class ForeignDatabase extends Error {
  override readonly name = 'ForeignDatabase';
}

export class NewerSchema extends Error {
  override readonly name = 'NewerSchema';
}

/** The database's version, and the version of this program. */
export type Upgrade = { readonly from: number; readonly to: number };

/**
 * Brings a database to this program's schema. If a step finds no room, or the process ends in it,
 * the database stays as it was before that step.
 * @param begun called before the first step on a database that was in use: it may take minutes
 * @throws ForeignDatabase for another program's tables, NewerSchema for a newer svc's database, and
 * SQLite's errors
 */
export function migrate(db: DatabaseSync, begun: (upgrade: Upgrade) => void = () => {}): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as {
    user_version: number;
  };
  const { application_id: owner } = db.prepare('PRAGMA application_id').get() as {
    application_id: number;
  };
  const tables = db.prepare('SELECT count(*) AS n FROM sqlite_master').get() as { n: number };
  if (owner !== applicationId && tables.n > 0) {
    throw new ForeignDatabase('the file is the database of another program');
  }
  if (version > steps.length) {
    throw new NewerSchema(`its schema is version ${version}, this program knows ${steps.length}`);
  }
  const isUpgrade = version > 0 && version < steps.length;
  if (isUpgrade) begun({ from: version, to: steps.length });
  for (const [index, { sql }] of steps.entries()) {
    if (index < version) continue;
    const marks = `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${index + 1};`;
    db.exec(`BEGIN IMMEDIATE; ${sql} ${marks} COMMIT;`);
  }
  // Rewritten tables make the log as long as they are.
  if (isUpgrade) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
