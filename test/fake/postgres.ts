/**
 * A real PostgreSQL server for tests. SVC_TEST_POSTGRES names it by the URL of a user who may
 * create databases. Without this variable the whole run shares a server of Debian's package.
 * Without any server a test that needs one is skipped, with a note. For a server that a test may
 * stop, kill or fill: postgres/server.ts; for a connection that fails: postgres/way.ts; for a
 * pooler before the server: postgres/pgbouncer.ts.
 */
import { platform } from 'node:os';
import { test } from 'node:test';
import { filesBegun } from '../../scripts/process-state.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { migrate } from '../../src/ledger/postgres/server/migrations.ts';
import { createDatabase, postgresPrograms, serverAccount } from './postgres/server.ts';
import { sharedServer } from './postgres/shared.ts';

export type TestServer = {
  /** The URL of a database of that server. */
  url(database: string): string;
};

/** Why the tests that need a server cannot run here; false: they can. */
export const noPostgres: string | false = whyNot();
/** Why the tests that need their own server cannot run here; false: they can. */
export const noOwnPostgres: string | false = whyNone();

/** A test that needs a server. Without one it is skipped, with a note. */
export function postgresTest(name: string, act: () => Promise<void>): void {
  void test(name, { skip: noPostgres }, act);
}

/** A test that starts servers. Where it cannot, it is skipped, with a note. */
export function ownPostgresTest(name: string, act: () => Promise<void>): void {
  void test(name, { skip: noOwnPostgres }, act);
}

function whyNot(): string | false {
  return given() === null && whyNone();
}

function whyNone(): string | false {
  if (process.env['SVC_NO_POSTGRES'] === '1') return 'SVC_NO_POSTGRES says that there is none';
  if (platform() !== 'linux' || postgresPrograms() === null) {
    return 'there is no PostgreSQL server: apt install postgresql';
  }
  try {
    serverAccount();
    return false;
  } catch {
    return 'there is no user postgres, and the server does not run as root';
  }
}

function given(): string | null {
  const url = process.env['SVC_TEST_POSTGRES'] ?? '';
  return url === '' ? null : url;
}

let found: Promise<TestServer> | null = null;

/** Starts the server unless it runs. */
export function testServer(): Promise<TestServer> {
  found ??= find();
  return found;
}

async function find(): Promise<TestServer> {
  const base = given() ?? (await sharedServer());
  return {
    url(database) {
      const url = new URL(base);
      url.pathname = `/${database}`;
      return url.href;
    },
  };
}

type Made = { readonly name: string; readonly file: number };
let made: readonly Made[] = [];

/** An empty database until the end of its test file. @returns its URL */
export function newDatabase(): Promise<string> {
  return makeDatabase();
}

async function makeDatabase(template?: string): Promise<string> {
  const server = await testServer();
  if (made.length === 0) process.once('beforeExit', () => void drop(made));
  await drop(made.filter(({ file }) => file !== filesBegun()));
  const file = filesBegun();
  const database = await createDatabase((name) => server.url(name), template);
  made = [...made, { name: new URL(database).pathname.slice(1), file }];
  return database;
}

/** A new database with svc's tables, as a first start makes them. @returns its URL */
export async function migratedDatabase(): Promise<string> {
  if (given() === null) return makeDatabase(await (migrated ??= findMigrated()));
  // A server of others gets no template that would stay behind.
  const url = await newDatabase();
  await migrateAt(url);
  return url;
}

let migrated: Promise<string> | null = null;

/** The template of a run; its first user makes it. @returns its name */
async function findMigrated(): Promise<string> {
  const [name, key] = ['svc_migrated', 48];
  const server = await testServer();
  const client = await connect(server.url('postgres'));
  try {
    await client.query('SELECT pg_advisory_lock($1)', [key]);
    const there = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (there.rowCount === 0) {
      const url = await createDatabase((one) => server.url(one));
      await migrateAt(url);
      // The rename makes it visible only when it is whole.
      await client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} RENAME TO ${name}`);
    }
    return name;
  } finally {
    await client.end();
  }
}

async function migrateAt(url: string): Promise<void> {
  const client = await connect(url);
  await migrate(client);
  await client.end();
}

/** For the running test file: the databases of finished cases. */
let emptied: { readonly file: number; readonly urls: string[] } = { file: -1, urls: [] };

/**
 * A database with svc's tables and no rows. A later case of the file gets the same database, which
 * costs less than a new one. It is for cases that change no table and end all their writers.
 */
export async function emptyDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const file = filesBegun();
  if (emptied.file !== file) emptied = { file, urls: [] };
  const { urls } = emptied;
  const url = urls.pop() ?? (await migratedDatabase());
  return {
    url,
    async [Symbol.asyncDispose]() {
      await empty(url);
      urls.push(url);
    },
  };
}

async function empty(url: string): Promise<void> {
  const client = await connect(url);
  // Instances first: then a write that one of them still has under way lands before this, or never.
  await client.query('DELETE FROM svc.instance');
  const { rows } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'svc'::regnamespace " +
      "AND relkind = 'r' AND relname NOT IN ('schema', 'instance', 'cursor')",
  );
  const all = rows.map(({ name }) => `DELETE FROM svc."${name}"`);
  const ofSteps = "DELETE FROM svc.cursor WHERE (channel, name) <> ('svc', 'conversation_seal')";
  await client.query([...all, ofSteps, 'INSERT INTO svc.search_state DEFAULT VALUES'].join(';'));
  await client.end();
}

async function drop(databases: readonly Made[]): Promise<void> {
  if (databases.length === 0) return;
  made = made.filter((one) => !databases.includes(one));
  const server = await testServer();
  const client = await connect(server.url('postgres'));
  for (const { name } of databases) {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
  await client.end();
}
