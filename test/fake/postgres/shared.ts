/**
 * The server that all test files of a run share. Its first user starts it, the others wait, and it
 * ends with the run. SVC_TEST_RUN of scripts/test.ts names the run; by default it is this process.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/waiting.ts';
import { guard, PostgresServer } from './server.ts';

/** @returns the URL of its database `postgres` */
export async function sharedServer(): Promise<string> {
  const own = `${process.pid}-${Math.floor(performance.timeOrigin)}`;
  const name = process.env['SVC_TEST_RUN'] ?? own;
  const watched = Number.parseInt(name, 10);
  const folder = join(tmpdir(), `svc-run-${name}`);
  const told = join(folder, 'server');
  if (begin(folder)) {
    guard(watched, folder);
    let said: string;
    try {
      said = (await PostgresServer.start({ watched })).url();
    } catch (error) {
      said = `FAILED ${String(error)}`;
    }
    // The rename makes it visible only when it is whole.
    writeFileSync(`${told}.new`, said);
    renameSync(`${told}.new`, told);
  }
  await until('somebody has started the server', () => existsSync(told));
  const url = readFileSync(told, 'utf8');
  if (url.startsWith('FAILED ')) throw new Error(url);
  return url;
}

/** @returns whether this process is the first */
function begin(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
