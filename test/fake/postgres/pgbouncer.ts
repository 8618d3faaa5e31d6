/** Debian's PgBouncer before a server: each transaction may have another connection. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canRun } from '../../../src/lib/executable.ts';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { freePort } from '../../support/program.ts';
import { until } from '../../support/waiting.ts';
import { guard, own, serverAccount } from './server.ts';

const program = '/usr/sbin/pgbouncer';

/** Why it is missing; false: it is there. */
export const noPgBouncer: string | false =
  !canRun(program) && `there is no ${program}: apt install pgbouncer`;

export type PgBouncer = AsyncDisposable & {
  /** @param of a database of the server behind it */
  url(of: string): string;
};

/**
 * @param server the URL of any database of the server
 * @param poolSize the number of connections to the server for each database
 */
export async function startPgBouncer(server: string, poolSize = 2): Promise<PgBouncer> {
  const account = serverAccount();
  const folder = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'));
  own(folder, account);
  const port = await freePort();
  const { hostname, port: serverPort, username } = new URL(server);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    [
      `[databases]\n* = host=${hostname} port=${serverPort} user=${username}`,
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = any\npool_mode = transaction\ndefault_pool_size = ${poolSize}`,
      // The database of a finished test keeps no connection from the others.
      'server_idle_timeout = 1',
      `logfile = ${join(folder, 'log')}\npidfile = ${join(folder, 'pgbouncer.pid')}\n`,
    ].join('\n'),
  );
  guard(process.pid, folder);
  const child = spawn(program, [file], { ...account, cwd: folder, stdio: 'ignore' });
  child.unref();
  const url = (of: string): string => {
    const pooled = new URL(of);
    pooled.host = `127.0.0.1:${port}`;
    return pooled.href;
  };
  await until('PgBouncer answers', async () => {
    try {
      await (await connect(url(server))).end();
      return true;
    } catch (error) {
      if (child.exitCode === null) return false;
      const log = readFileSync(join(folder, 'log'), 'utf8');
      throw new Error(`PgBouncer does not start:\n${log}`, { cause: error });
    }
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      const ended = child.exitCode ?? child.signalCode ?? once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
