/** Debian's HAProxy, a balancer before several servers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canRun } from '../../src/lib/executable.ts';
import { until } from '../support/waiting.ts';
import { guard } from './postgres/server.ts';

export const haproxy = '/usr/sbin/haproxy';

/** Why it is missing; false: it is there. */
export const noHaproxy: string | false = whyNone();

function whyNone(): string | false {
  return !canRun(haproxy) && `there is no ${haproxy}: apt install haproxy`;
}

/**
 * Resolves when it listens.
 * @param configuration makes it listen on `port` of 127.0.0.1
 */
export async function startHaproxy(configuration: string, port: number): Promise<AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-haproxy-'));
  const [file, log] = [join(folder, 'haproxy.cfg'), join(folder, 'log')];
  writeFileSync(file, configuration);
  const shell = 'exec "$0" -db -f "$1" >"$2" 2>&1';
  const child = spawn('sh', ['-c', shell, haproxy, file, log], { cwd: folder, stdio: 'ignore' });
  writeFileSync(join(folder, 'haproxy.pid'), `${child.pid}\n`);
  guard(process.pid, folder);
  await until('HAProxy listens', async () => {
    if (await listens(port)) return true;
    if (child.exitCode === null) return false;
    throw new Error(`HAProxy does not start:\n${readFileSync(log, 'utf8')}`);
  });
  return {
    async [Symbol.asyncDispose]() {
      const ended = child.exitCode ?? child.signalCode ?? once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
