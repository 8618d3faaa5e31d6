/**
 * A PostgreSQL server for tests: the one of SVC_TEST_POSTGRES, or Debian's binaries on a folder of
 * their own. One server a process that runs tests, a database a case.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, chownSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/store/postgres/server/connect.ts';

export type TestServer = {
  /** Of a database of that server. */
  url(database: string): string;
  stop(): void;
};

function binaries(): string | null {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return null;
  const newest = readdirSync(root).sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? null : join(root, newest, 'bin');
}

let started: Promise<TestServer> | null = null;
export function testServer(): Promise<TestServer> {
  started ??= start();
  return started;
}

async function start(): Promise<TestServer> {
  const given = process.env['SVC_TEST_POSTGRES'];
  const of =
    (base: string) =>
    (database: string): string => {
      const url = new URL(base);
      url.pathname = `/${database}`;
      return url.href;
    };
  if (given !== undefined && given !== '') return { url: of(given), stop() {} };
  const bin = binaries();
  if (bin === null) throw new Error('there is no PostgreSQL server');
  const folder = mkdtempSync(join(tmpdir(), 'svc-pg-'));
  const data = join(folder, 'data');
  const root = userInfo().uid === 0;
  const uid = root ? Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' })) : -1;
  const gid = root ? Number(execFileSync('id', ['-g', 'postgres'], { encoding: 'utf8' })) : -1;
  const who = root ? { uid, gid } : {};
  if (root) chownSync(folder, uid, gid);
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'svc', '-E', 'UTF8', '--no-sync', '--locale=C'],
    { ...who, stdio: 'ignore', cwd: folder },
  );
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const server = spawn(
    join(bin, 'postgres'),
    [
      '-D',
      data,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `unix_socket_directories=${folder}`,
      '-c',
      'fsync=on',
    ],
    { ...who, stdio: 'ignore', cwd: folder },
  );
  const base = `postgres://svc@127.0.0.1:${port}/postgres`;
  for (let looks = 0; ; looks++) {
    try {
      await (await connect(base)).end();
      break;
    } catch (error) {
      if (looks > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  process.once('exit', () => server.kill('SIGQUIT'));
  server.unref();
  return { url: of(base), stop: () => void server.kill('SIGQUIT') };
}

/** A database of its own. @returns its URL */
export async function newDatabase(): Promise<string> {
  const server = await testServer();
  const name = `svc_${process.pid}_${Math.floor(Math.random() * 1e12)}`;
  const client = await connect(server.url('postgres'));
  await client.query(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
  await client.end();
  return server.url(name);
}
