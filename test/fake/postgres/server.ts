/**
 * A PostgreSQL server of Debian's package, in a folder of its own. It never runs as root. It
 * belongs to a process: when this process ends in any way, the server ends and its folder is
 * removed.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { freePort } from '../../support/program.ts';
import { patienceMs, until } from '../../support/waiting.ts';

const run = promisify(execFile);

/** The folder of the newest server's programs; null: there is none. */
export function postgresPrograms(): string | null {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return null;
  const versions = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
  const folders = versions.map((version) => join(root, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

/** The server's user: the tests' own, but never root. */
export type Account = { readonly uid?: number; readonly gid?: number };

export function serverAccount(): Account {
  if (userInfo().uid !== 0) return {};
  const number = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: number('-u'), gid: number('-g') };
}

export type ServerOptions = {
  /** The parent of its folder; by default a folder in memory if there is one. */
  readonly inFolder?: string;
  /** Settings of postgresql.conf beside those of every test server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lines of pg_hba.conf; by default everybody is trusted. */
  readonly access?: readonly string[];
  /** The password of the superuser svc. */
  readonly password?: string;
  readonly encoding?: 'UTF8' | 'LATIN1' | 'SQL_ASCII';
  /** The process to which it belongs; by default the tests' own. */
  readonly watched?: number;
};

const usual: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  shared_buffers: '32MB',
  max_wal_size: '512MB',
  fsync: 'on',
  // Shared memory in files of its folder, which are removed with it.
  dynamic_shared_memory_type: 'mmap',
};

/** made → running ⇄ halted; running → stopped or killed → running */
export class PostgresServer implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly #account: Account;
  readonly #programs: string;
  #main: ChildProcess | null = null;

  private constructor(folder: string, port: number, programs: string) {
    this.folder = folder;
    this.port = port;
    this.#programs = programs;
    this.#account = serverAccount();
  }

  /** Starts a server with a user `svc` and a database `postgres`. */
  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const programs = postgresPrograms();
    if (programs === null) throw new Error('there is no PostgreSQL server');
    const memory = existsSync('/dev/shm') && options.settings?.['ssl'] === undefined;
    const place = options.inFolder ?? (memory ? '/dev/shm' : tmpdir());
    const folder = mkdtempSync(join(place, 'svc-postgres-'));
    const server = new PostgresServer(folder, await freePort(), programs);
    guard(options.watched ?? process.pid, folder);
    await server.#make(options);
    await server.restart();
    return server;
  }

  /** @param database by default the one from which others are created */
  url(database = 'postgres'): string {
    return `postgres://svc@127.0.0.1:${this.port}/${database}`;
  }

  /** Creates a database. @returns its URL */
  async newDatabase(): Promise<string> {
    return createDatabase((name) => this.url(name));
  }

  /** Whether its main process exists. */
  get isRunning(): boolean {
    return this.#processes().length > 0;
  }

  /** Starts it after a stop or a kill, and waits until it answers. */
  async restart(): Promise<void> {
    const log = join(this.folder, 'log');
    // It outlives its starter, until the end of the process to which it belongs.
    const child = spawn(
      'sh',
      [
        '-c',
        'exec "$0" "$@" >>"$SVC_LOG" 2>&1',
        join(this.#programs, 'postgres'),
        '-D',
        this.#data,
      ],
      {
        ...this.#account,
        cwd: this.folder,
        detached: true,
        stdio: 'ignore',
        env: { PATH: process.env['PATH'], SVC_LOG: log },
      },
    );
    this.#main = child;
    child.unref();
    await until('it answers', async () => {
      try {
        const client = await connect(this.url(), { timeoutMs: patienceMs, anyHost: true });
        await client.end();
        return true;
      } catch (error) {
        if (this.#answers(error)) return true;
        if (!hasEnded(child)) return false;
        throw new Error(`it does not start:\n${readFileSync(log, 'utf8')}`, { cause: error });
      }
    });
  }

  /** Stops it as an administrator does: it ends connections and writes everything. */
  async stop(): Promise<void> {
    await this.#end('SIGINT');
  }

  /** Ends all its processes at once, as a power cut does. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops it, and starts it as a standby that takes no writes and that nobody feeds. */
  async standBy(): Promise<void> {
    await this.stop();
    const file = join(this.#data, 'standby.signal');
    await writeFile(file, '');
    own(file, this.#account);
    await this.restart();
  }

  /**
   * Ends it, throws its data away, and starts it on new data.
   * @param make fills a folder that does not exist yet
   */
  async remake(
    make: (data: string, programs: string, account: Account) => Promise<void>,
  ): Promise<void> {
    await this.kill();
    rmSync(this.#data, { recursive: true, force: true });
    await make(this.#data, this.#programs, this.#account);
    await this.restart();
  }

  /** Pauses all its processes. */
  halt(): void {
    // First the one that starts the others.
    this.#signal('SIGSTOP', this.#processes());
    this.#signal('SIGSTOP', this.#processes());
  }

  goOn(): void {
    this.#signal('SIGCONT', this.#processes());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.goOn();
    await this.#end('SIGQUIT');
    rmSync(this.folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  async #make({ settings, access, password, encoding = 'UTF8' }: ServerOptions): Promise<void> {
    const { folder } = this;
    own(folder, this.#account);
    const words = ['-A', 'trust', '-U', 'svc', '-E', encoding, '--locale=C', '--no-sync'];
    await run(join(this.#programs, 'initdb'), ['-D', this.#data, ...words], {
      ...this.#account,
      cwd: folder,
    });
    const all = {
      ...usual,
      port: String(this.port),
      unix_socket_directories: folder,
      ...settings,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`);
    await writeFile(join(this.#data, 'postgresql.auto.conf'), lines.join(''));
    if (password !== undefined) await this.#setPassword(password);
    if (access !== undefined) {
      await writeFile(join(this.#data, 'pg_hba.conf'), access.map((line) => `${line}\n`).join(''));
    }
  }

  async #setPassword(password: string): Promise<void> {
    const file = join(this.folder, 'password.sql');
    await writeFile(file, `ALTER ROLE svc PASSWORD '${password}'\n`);
    const alone = `"$0" --single -D "$1" postgres < "$2"`;
    const args = ['-c', alone, join(this.#programs, 'postgres'), this.#data, file];
    await run('sh', args, { ...this.#account, cwd: this.folder });
  }

  /** Whether the error shows a running server that wants a password or encryption. */
  #answers(error: unknown): boolean {
    const { code } = error as { readonly code?: string };
    return code === 'SVC_NO_PASSWORD' || code?.startsWith('28') === true;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const [main, ...others] = this.#processes();
    if (main === undefined) return;
    this.#signal(signal, signal === 'SIGKILL' ? [main, ...others] : [main]);
    const isOver = (): boolean => this.#main === null || hasEnded(this.#main);
    await until('it has ended', () => isOver() && !others.some(isRunning));
  }

  #signal(signal: NodeJS.Signals, pids: readonly number[]): void {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** The main one first; none if it does not run. */
  #processes(): readonly number[] {
    const file = join(this.#data, 'postmaster.pid');
    const main = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
    if (main === 0 || !isRunning(main)) return [];
    const children = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.parent === main)
      .map(Number);
    return [main, ...children];
  }
}

/** Gives a file or folder to the server's user. */
export function own(path: string, { uid, gid }: Account): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

/**
 * @param of the URL of a database of that name
 * @param template the database to copy
 */
export async function createDatabase(
  of: (name: string) => string,
  template = 'template0',
): Promise<string> {
  const name = `svc_${process.pid}_${Math.floor(Math.random() * 1e12)}`;
  const client = await connect(of('postgres'));
  await client.query(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE ${template}`);
  await client.end();
  return of(name);
}

/** Once it has ended, a caller does not take it for a running server. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function isRunning(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== null && stat.state !== 'Z';
}

function statOf(pid: number): { readonly state: string; readonly parent: number } | null {
  try {
    // The name in parentheses may hold any character.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

/**
 * Waits for the end of a process. Then it ends the programs whose numbers are in the folder's
 * files, and removes the folder. It ends by itself once the folder is gone.
 */
export function guard(watched: number, folder: string): void {
  const script =
    'while kill -0 "$1" 2>/dev/null && [ -d "$2" ]; do sleep 0.5; done; ' +
    'for file in "$2/data/postmaster.pid" "$2/pgbouncer.pid"; do ' +
    '[ -f "$file" ] && read -r pid <"$file" && kill -CONT "$pid" && kill -QUIT "$pid" && ' +
    'while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done; done; ' +
    'for file in "$2/haproxy.pid" "$2/prometheus.pid"; do ' +
    '[ -f "$file" ] && read -r pid <"$file" && kill -KILL "$pid"; done; rm -rf "$2"';
  spawn('sh', ['-c', script, 'svc-guard', String(watched), folder], {
    cwd: '/',
    detached: true,
    stdio: 'ignore',
  }).unref();
}
