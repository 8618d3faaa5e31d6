/** Opens a migration between two places, or says why there can be none. */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import { readAddress } from '../postgres/server/address.ts';
import { connect } from '../postgres/server/connect.ts';
import {
  migrate as makeTables,
  migrationFiles,
  schemaState,
  schemaVersion,
} from '../postgres/server/migrations.ts';
import type { StoreProblem } from '../ledger.ts';
import { idCipherPlace } from '../read/id-cipher.ts';
import { settle, syncFile } from '../sqlite/files/backup.ts';
import { takeOwnerLock } from '../sqlite/files/database-files.ts';
import { migrate } from '../sqlite/files/migrations.ts';
import { lockedProblem, problemOf } from '../sqlite/files/problem.ts';
import { openForReading } from '../sqlite/read/reader.ts';
import { lockSource, lockTarget, uncleanProblem, Migration } from './migrate.ts';
import { PostgresSide, PostgresTarget } from './postgres-target.ts';
import { SqliteSide, SqliteTarget } from './sqlite-target.ts';
import type { Side, Target } from './tables.ts';

export type Place =
  /** An absolute path. */
  | { readonly kind: 'file'; readonly path: string }
  /** The URL is a secret. */
  | { readonly kind: 'server'; readonly url: string };

/** The id cipher of a target whose tables were just made; the source's takes its place. */
const ownIdCipher = [idCipherPlace.channel, idCipherPlace.name];

/**
 * Locks both databases. The source must have this program's schema, and its last svc must have
 * ended in order. The target must hold nothing.
 */
export async function openMigration(from: Place, to: Place): Promise<Migration | StoreProblem> {
  const source = await (from.kind === 'file' ? fileSource(from.path) : serverSource(from.url));
  if ('code' in source) return source;
  try {
    const target = await (to.kind === 'file' ? fileTarget(to.path) : serverTarget(to.url));
    if (!('code' in target)) return new Migration(source, target);
    await source[Symbol.asyncDispose]();
    return target;
  } catch (error) {
    await source[Symbol.asyncDispose]();
    throw error;
  }
}

function fileSource(path: string): Side | StoreProblem {
  const lock = existsSync(path) ? takeOwnerLock(path) : null;
  if (lock === null && existsSync(path)) return lockedProblem(path);
  const db = openForReading(path);
  if ('code' in db) {
    lock?.release();
    return db;
  }
  const close = (): void => {
    db.close();
    lock?.release();
  };
  db.exec('BEGIN');
  if (db.prepare('SELECT clean FROM owner').get()?.['clean'] === 1) {
    return new SqliteSide(db, close);
  }
  close();
  return uncleanProblem(`The database ${path}`);
}

function fileTarget(path: string): Target | StoreProblem {
  const existing = [path, `${path}-wal`, `${path}-journal`].find((file) => existsSync(file));
  if (existing !== undefined)
    return problem('migration_target', `There is a file ${existing} already.`);
  const part = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.part`);
  const clear = (): void => {
    rmSync(part, { force: true });
    rmSync(`${part}-journal`, { force: true });
  };
  try {
    closeSync(openSync(part, 'wx', 0o600));
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return problem('migration_target', `No file can be made in ${dirname(path)} (${code}).`);
  }
  try {
    const db = new DatabaseSync(part);
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = FULL');
    migrate(db);
    db.exec('BEGIN IMMEDIATE');
    db.prepare('DELETE FROM cursors WHERE channel = ? AND name = ?').run(...ownIdCipher);
    const close = (): void => {
      if (db.isOpen) db.close();
      clear();
    };
    const keep = (): void => {
      db.close();
      syncFile(part);
      if (!settle(part, path)) throw new Error(`there is a file ${path} already`);
      syncFile(dirname(path));
    };
    return new SqliteTarget(db, close, keep);
  } catch (error) {
    clear();
    return problemOf(path, error as Error);
  }
}

async function serverSource(url: string): Promise<Side | StoreProblem> {
  return atServer(url, 'REPEATABLE READ', isOurs, async (client, named) => {
    return (await lockSource(client, named)) ?? new PostgresSide(client);
  });
}

/**
 * Refuses an older or newer schema: a newer svc may have added columns that this one would leave
 * behind, and an older one lacks some that this one reads.
 */
async function isOurs(client: Client, named: string): Promise<StoreProblem | null> {
  if ((await schemaState(client)).kind !== 'ours') {
    return problem('storage_missing', `The ${named} has no tables of svc.`);
  }
  const version = await schemaVersion(client);
  const known = migrationFiles().length;
  if (version === known) return null;
  if (version > known) {
    return problem(
      'storage_newer_schema',
      `The ${named} was written by a newer svc; run that one.`,
    );
  }
  const what = 'was written by an older svc. Start this one on it and stop it again';
  return problem('storage_older', `The ${named} ${what}.`);
}

async function makeSchema(client: Client): Promise<null> {
  await makeTables(client);
  return null;
}

/**
 * Not moved, but must be empty in a target: a start would use the configurations there. Messages
 * between instances mean nothing once no instance lives.
 */
const notMoved = ['config'];

async function serverTarget(url: string): Promise<Target | StoreProblem> {
  return atServer(url, 'READ COMMITTED', makeSchema, async (client, named) => {
    const locked = await lockTarget(client, named);
    if (locked !== null) return locked;
    const names = ['lane', 'inbox', 'outbox', 'message', 'sent', 'turn', 'cut', 'note'];
    const all = [...names, 'tool_use', 'tool_call', 'dedupe', 'cursor', 'audit', ...notMoved];
    await client.query('DELETE FROM svc.cursor WHERE channel = $1 AND name = $2', ownIdCipher);
    const some = all.map((table) => `EXISTS (SELECT 1 FROM svc.${table})`).join(' OR ');
    const { rows } = await client.query(`SELECT ${some} AS used`);
    if (rows[0]?.['used'] !== true) return new PostgresTarget(client);
    const what = `The ${named} holds rows of svc already; name an empty one.`;
    return problem('migration_target', what);
  });
}

/**
 * Opens a connection for either side, in a transaction; ends it where there is a problem.
 * @param prepare runs before the transaction, which must see the database as it is once locked
 */
async function atServer<Of extends Side>(
  url: string,
  isolation: string,
  prepare: (client: Client, named: string) => Promise<StoreProblem | null>,
  open: (client: Client, named: string) => Promise<Of | StoreProblem>,
): Promise<Of | StoreProblem> {
  const address = readAddress(url);
  if (address.kind === 'problems') return problem('storage_url', address.problems.join(' '));
  const named = String(address);
  let client: Client | null = null;
  try {
    client = await connect(url);
    const unfit = await prepare(client, named);
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    // A migration may take long, and a server may limit the time of a statement.
    await client.query('SET LOCAL statement_timeout = 0');
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const opened = unfit ?? (await open(client, named));
    if ('code' in opened) await client.end();
    return opened;
  } catch (error) {
    await client?.end().catch(() => {});
    return problem('storage_unreachable', `The ${named}: ${(error as Error).message}.`, true);
  }
}

function problem(code: string, message: string, isPassing = false): StoreProblem {
  return { kind: 'problem', code, message, isPassing };
}
