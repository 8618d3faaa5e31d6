/**
 * A real PostgreSQL server for tests: the one that SVC_TEST_POSTGRES names by the URL of a user who
 * may make databases, else one of Debian's package that the whole run shares. A test that needs it
 * is skipped where there is none, and says so. For a server of one's own, which may be stopped,
 * killed or filled: postgres/server.ts; a way to it that fails: postgres/way.ts; a pooler before
 * it: postgres/pgbouncer.ts.
 */
import { platform } from 'node:os';
import { test } from 'node:test';
import { filesBegun } from '../../scripts/process-state.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { migrate } from '../../src/ledger/postgres/server/migrations.ts';
import { createDatabase, postgresPrograms, serverAccount } from './postgres/server.ts';
import { sharedServer } from './postgres/shared.ts';

export type TestServer = {
  /** Of a database of that server. */
  url(database: string): string;
};

/** Why the tests that need a server cannot run here; false: they can. */
export const noPostgres: string | false = whyNot();
/** Why those cannot run that need a server of their own; false: they can. */
export const noOwnPostgres: string | false = whyNone();

/** A test that needs a server; where there is none, it is skipped and says so. */
export function postgresTest(name: string, act: () => Promise<void>): void {
  void test(name, { skip: noPostgres }, act);
}

/** A test that starts servers; where there are none, it is skipped and says so. */
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

/** Started where it is not there yet. */
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

/** A database of its own, without anything in it, until its test file is over. @returns its URL */
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

/** The same with svc's tables, as a first start makes them. @returns its URL */
export async function migratedDatabase(): Promise<string> {
  if (given() === null) return makeDatabase(await (migrated ??= findMigrated()));
  // On a server of others no template is left behind.
  const url = await newDatabase();
  await migrateAt(url);
  return url;
}

let migrated: Promise<string> | null = null;

/** The template of a run, which the first who needs it makes. @returns its name */
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
      // Whole or not there.
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

/** Of the test file that runs: where cases were that are over. */
let emptied: { readonly file: number; readonly urls: string[] } = { file: -1, urls: [] };

/**
 * One with svc's tables and nothing in them. When its case is over another case of the file has it,
 * which costs less than a new one: it is for cases that change no table, and end all that writes.
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
  // First the instances: what one of them has still under way lands before, or never.
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
