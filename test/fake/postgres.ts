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
import { connect } from '../../src/store/postgres/server/connect.ts';
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

let server: Promise<TestServer> | null = null;

/** Started where it is not there yet. */
export function testServer(): Promise<TestServer> {
  server ??= find();
  return server;
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
export async function newDatabase(): Promise<string> {
  const { url } = await testServer();
  if (made.length === 0) process.once('beforeExit', () => void drop(made));
  await drop(made.filter(({ file }) => file !== filesBegun()));
  const file = filesBegun();
  const database = await createDatabase(url);
  made = [...made, { name: new URL(database).pathname.slice(1), file }];
  return database;
}

async function drop(databases: readonly Made[]): Promise<void> {
  if (databases.length === 0) return;
  made = made.filter((one) => !databases.includes(one));
  const { url } = await testServer();
  const client = await connect(url('postgres'));
  for (const { name } of databases) {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
  await client.end();
}
