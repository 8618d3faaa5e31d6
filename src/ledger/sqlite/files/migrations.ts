/** The schema's history: numbered SQL files, each applied once, in order, in one transaction. */
import type { DatabaseSync } from 'node:sqlite';
import { steps } from './steps.ts';

/** "svc1" in ASCII: says whose database it is (SQLite's `application_id`). */
export const applicationId = 0x73766331;

/** File names in order; the number of the last is the schema's version. */
export function migrationFiles(): readonly string[] {
  return steps.map(({ name }) => name);
}

/** Errors cross from the writer's thread as texts: their names are what tells them apart. */
export class ForeignDatabase extends Error {
  override readonly name = 'ForeignDatabase';
}

export class NewerSchema extends Error {
  override readonly name = 'NewerSchema';
}

/** From the version that a database has to the one that it is to have. */
export type Upgrade = { readonly from: number; readonly to: number };

/**
 * Brings a database to this program's schema. Where a step finds no room, or the process ends in
 * it, the database is what it was before that step.
 * @param begun told before the first step of a database that was in use: it may take minutes
 * @throws ForeignDatabase where another program's tables stand, NewerSchema where a newer svc
 *   wrote, and what SQLite says
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
  // The log of tables that were written anew is as long as they are.
  if (isUpgrade) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
