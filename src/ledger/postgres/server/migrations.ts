/**
 * The schema's history: numbered SQL files. Each is applied once, in order, all in one transaction.
 * A lock holds back other instances that start at the same time.
 *
 * A program runs on its own schema and on the next one, so that instances can be replaced one after
 * the other. A step adds something, the next release uses it, and the release after that drops the
 * old thing. A new column has a default value for the writes of the release before. A step takes
 * only a moment, since nobody works meanwhile: it reads and rewrites no large table.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { codeOf } from './errors.ts';
import { steps as ownSteps } from './steps.ts';

/** File names in order; the number of the last is the schema's version. */
export function migrationFiles(): readonly string[] {
  return ownSteps.map(({ name }) => name);
}

/** The steps from nothing to this program's schema, in SQL. */
export function migrationSteps(): readonly string[] {
  return ownSteps.map(({ sql }) => sql);
}

/** A schema named svc has tables, but belongs to another program. */
export class ForeignSchema extends Error {
  override readonly name = 'ForeignSchema';
}

/** A newer svc wrote here, by more than one step. */
export class NewerSchema extends Error {
  override readonly name = 'NewerSchema';
}

/** From the version that a database has to the version that it gets. */
export type Upgrade = { readonly from: number; readonly to: number };

export type SchemaState =
  | { readonly kind: 'none' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'ours' };

/**
 * Brings a database to this program's schema, or leaves it as it was. Where the schema is current,
 * it needs no right to change it. Instances of the release before may work meanwhile. A step that
 * does not get its tables soon lets them go on, and is tried again.
 * @param onBegin called once before the first step on a database that was in use, which may take
 *   minutes
 * @param lockMs how long a step waits for a table, and all other users of the table with it
 * @returns the version that the database has now: this program's, or the next
 * @throws ForeignSchema, NewerSchema, or the server's error
 */
export async function migrate(
  client: Client,
  onBegin: (upgrade: Upgrade) => void = () => {},
  steps: readonly string[] = migrationSteps(),
  lockMs = lockMsUsual,
): Promise<number> {
  let hasBegun = false;
  const beginOnce = (upgrade: Upgrade): void => {
    if (!hasBegun) onBegin(upgrade);
    hasBegun = true;
  };
  for (;;) {
    const version = await tryToMigrate(client, { onBegin: beginOnce, steps, lockMs });
    if (version !== null) return version;
    await pause(retryMs);
  }
}

/** Less than the time after which instances report that the server is away. */
const lockMsUsual = 3_000;
const retryMs = 1_000;
/** Another transaction has a table for too long, or the two wait for each other. */
const retryStates = new Set(['55P03', '40P01']);

type Migrating = {
  readonly onBegin: (upgrade: Upgrade) => void;
  readonly steps: readonly string[];
  readonly lockMs: number;
};

/** @returns null: others have the tables that it needs, and the database is as it was */
async function tryToMigrate(client: Client, options: Migrating): Promise<number | null> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    const version = await migrateUnderLock(client, options);
    await client.query('COMMIT');
    return version;
  } catch (error) {
    // Where the connection is lost, the server rolls back by itself.
    await client.query('ROLLBACK').catch(() => {});
    if (!retryStates.has(codeOf(error))) throw error;
    return null;
  }
}

async function migrateUnderLock(
  client: Client,
  { onBegin, steps, lockMs }: Migrating,
): Promise<number> {
  // A step may take minutes, and so may the wait for another start, whatever limits a role has.
  await client.query('SET LOCAL statement_timeout = 0');
  await client.query('SET LOCAL lock_timeout = 0');
  await client.query('SELECT pg_advisory_xact_lock($1, $2)', lock);
  const { kind } = await schemaState(client);
  if (kind === 'foreign') throw new ForeignSchema('the schema svc belongs to another program');
  const version = kind === 'ours' ? await schemaVersion(client) : 0;
  if (isTooNew(version, steps.length)) {
    throw new NewerSchema(`its schema is version ${version}, this program knows ${steps.length}`);
  }
  if (version >= steps.length) return version;
  if (version > 0) {
    onBegin({ from: version, to: steps.length });
    await client.query(`SET LOCAL lock_timeout = ${lockMs}`);
    // Every batch begins with this table. From here on none is under way, in whatever order a step
    // locks other tables.
    await client.query('LOCK TABLE svc.instance IN ACCESS EXCLUSIVE MODE');
  }
  if (kind === 'none') await client.query('CREATE SCHEMA svc');
  if (kind !== 'ours') await client.query('CREATE TABLE svc.schema (version integer NOT NULL)');
  for (const step of steps.slice(version)) await client.query(step);
  await client.query('DELETE FROM svc.schema');
  await client.query('INSERT INTO svc.schema VALUES ($1)', [steps.length]);
  return steps.length;
}

/** "svc1" in ASCII, and 1 for the migrations. */
const lock = [0x73766331, 1];

/** Whether this program cannot run on a schema. */
export function isTooNew(version: number, known = migrationFiles().length): boolean {
  return version > known + 1;
}

/** Reads the catalogue, which every user may. */
export async function schemaState(client: Client): Promise<SchemaState> {
  const { rows } = await client.query<{ made: boolean; things: number; ours: boolean }>(
    `SELECT count(n.oid) > 0 AS made, count(c.oid) AS things,
       coalesce(bool_or(c.relname = 'schema' AND c.relkind = 'r' AND EXISTS (
         SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid
           AND a.attname = 'version' AND a.atttypid = 'integer'::regtype
       )), false) AS ours
     FROM pg_catalog.pg_namespace n
     LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
     WHERE n.nspname = 'svc'`,
  );
  const { made, things, ours } = rows[0]!;
  if (!made) return { kind: 'none' };
  if (ours) return { kind: 'ours' };
  return { kind: things > 0 ? 'foreign' : 'empty' };
}

/** The version of a schema that belongs to svc. */
export async function schemaVersion(client: Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>('SELECT version FROM svc.schema');
  return rows[0]?.version ?? 0;
}
