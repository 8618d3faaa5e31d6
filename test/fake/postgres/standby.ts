/**
 * A primary server and its standby. The primary acknowledges a commit only once the standby has it
 * on its disk. When the primary is lost, the standby is promoted, and a new standby takes its
 * place.
 */
import { execFile } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { until } from '../../support/waiting.ts';
import { PostgresServer, type ServerOptions } from './server.ts';

const run = promisify(execFile);

export class ServerPair implements AsyncDisposable {
  /** In the order of the URL. */
  readonly both: readonly [PostgresServer, PostgresServer];
  #first = true;

  private constructor(both: readonly [PostgresServer, PostgresServer]) {
    this.both = both;
  }

  static async start(options: ServerOptions = {}): Promise<ServerPair> {
    await using stack = new AsyncDisposableStack();
    const primary = stack.use(await PostgresServer.start(options));
    const standby = stack.use(await PostgresServer.start(options));
    const pair = new ServerPair([primary, standby]);
    await pair.feed();
    stack.move();
    return pair;
  }

  /** The server that takes writes. */
  get primary(): PostgresServer {
    return this.both[this.#first ? 0 : 1];
  }

  get standby(): PostgresServer {
    return this.both[this.#first ? 1 : 0];
  }

  /** The URL of a database, with both servers. @param ports the port of each */
  url(database: string, ports: readonly number[] = this.both.map(({ port }) => port)): string {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
    return `postgres://svc@${hosts}/${database}`;
  }

  /** Loses the primary and promotes the standby. The new primary has no standby yet. */
  async promote(): Promise<void> {
    await this.primary.kill();
    this.#first = !this.#first;
    await ask(this.primary, 'SELECT pg_promote()');
  }

  /** Makes a new standby from the primary's data, and waits until commits wait for it. */
  async feed(): Promise<void> {
    const { primary, standby } = this;
    await ask(primary, "ALTER SYSTEM SET synchronous_standby_names = ''");
    // Without a slot the primary must keep the WAL that an absent standby lacks.
    await ask(primary, "ALTER SYSTEM SET wal_keep_size = '256MB'");
    await ask(primary, 'SELECT pg_reload_conf()');
    await standby.remake(async (data, programs, account) => {
      const words = ['--no-sync', '--checkpoint=fast', '--write-recovery-conf', '--pgdata', data];
      const from = ['--dbname', primary.url()];
      await run(join(programs, 'pg_basebackup'), [...words, ...from], account);
      // The last setting counts.
      const own = {
        port: standby.port,
        unix_socket_directories: standby.folder,
        // After a crash of the primary the standby soon asks again.
        wal_retrieve_retry_interval: '100ms',
      };
      const lines = Object.entries(own).map(([name, value]) => `${name} = '${value}'\n`);
      await appendFile(join(data, 'postgresql.auto.conf'), lines.join(''));
    });
    await ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await ask(primary, 'SELECT pg_reload_conf()');
    await this.#fed();
  }

  /** Crashes the primary, and starts it again after so long; then the standby follows it again. */
  async crash(awayMs: number): Promise<void> {
    await this.primary.kill();
    await pause(awayMs);
    await this.primary.restart();
    await this.#fed();
  }

  async #fed(): Promise<void> {
    await until('the standby streams', () => isFed(this.primary));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The standby first: without it commits of the primary wait, but its shutdown needs none.
    await this.standby[Symbol.asyncDispose]();
    await this.primary[Symbol.asyncDispose]();
  }
}

async function isFed(primary: PostgresServer): Promise<boolean> {
  const states = await ask(primary, 'SELECT sync_state AS state FROM pg_stat_replication');
  return states.some(({ state }) => state === 'sync');
}

async function ask(
  server: PostgresServer,
  text: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = await connect(server.url(), { anyHost: true });
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
