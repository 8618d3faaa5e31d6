/** Starts and stops the processes of a run, and passes rounds to the load. */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Round } from './load.ts';
import type { Measured } from './record.ts';

export type Backend = 'stateless' | 'durable';
/** `ms`: from the start of the process to its open port. */
export type Server = { readonly port: number; readonly pid: number; readonly ms: number };
export type Load = Omit<Round, 'port' | 'token' | 'pid'>;

/**
 * Options of a service. `agent`: the block that makes its brain an agent. `database`: an existing
 * one in place of a new one. `adminPort`: a fixed port for the pages, with sign-in.
 */
export type Special = {
  readonly agent?: object;
  readonly database?: string;
  readonly adminPort?: number;
};

const root = join(import.meta.dirname, '..');
const nothing = new Int32Array(new SharedArrayBuffer(4));
const token = 'a-token-for-the-bench-only';
/** Signs in at a service that has pages. */
export const adminToken = 'a-token-for-the-pages-of-the-bench';

/** Names the measured program: the build or the sources. */
export function subjectName(): string {
  return isBuilt() ? 'svc from dist/' : 'svc from its sources: case 6 needs `npm run build` before';
}

/** Whether the service runs from a build. It does while no source is newer. */
export function isBuilt(): boolean {
  const changed = globSync('{src,apps}/**/*', { cwd: root }).map((file) =>
    changedAt(join(root, file)),
  );
  const built = join(root, 'dist/main.js');
  return existsSync(built) && changedAt(built) >= Math.max(...changed);
}

function changedAt(file: string): number {
  return statSync(file).mtimeMs;
}

/**
 * Lays out the build like an installation: in a checkout, every start first reads the sources.
 * @returns its folder
 */
function install(folder: string): string {
  const installed = join(folder, 'svc');
  for (const part of ['bin', 'dist', 'web/dist', 'package.json']) {
    const from = join(root, part);
    if (existsSync(from)) cpSync(from, join(installed, part), { recursive: true });
  }
  return installed;
}

export class Lab {
  readonly folder: string;
  /** The program that runs the service. */
  readonly program: string;
  readonly #children = new Set<ChildProcess>();
  #load!: ChildProcess;
  #model!: ChildProcess;
  #modelUrl = '';
  #receiverUrl = '';

  readonly #profileOptions: readonly string[];

  private constructor(folder: string, profile: boolean) {
    this.folder = folder;
    this.program = join(isBuilt() ? install(folder) : root, 'bin/svc.js');
    this.#profileOptions = profile
      ? ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${folder}`]
      : [];
  }

  /** @param profile servers under test write a CPU profile into the folder when they end */
  static async open(profile: boolean): Promise<Lab> {
    mkdirSync(join(root, '.tmp'), { recursive: true });
    const lab = new Lab(mkdtempSync(join(root, '.tmp/bench-')), profile);
    [lab.#load, lab.#receiverUrl] = await lab.help('load.ts');
    [lab.#model, lab.#modelUrl] = await lab.help('model.ts');
    return lab;
  }

  async startFloor(backend: Backend): Promise<Server> {
    const port = await freePort();
    const file = join(this.folder, `floor-${port}.db`);
    const setup = { port, model: this.#modelUrl, receiver: this.#receiverUrl, token, file };
    const script = join(import.meta.dirname, `floor-${backend}.ts`);
    const argv = [script, JSON.stringify(setup)];
    return { port, ...(await this.boot(argv, port)) };
  }

  async startSubject(backend: Backend, special: Special = {}): Promise<Server> {
    const port = await freePort();
    const config = await this.#writeConfig(backend, port, special);
    const argv = [...this.#profileOptions, this.program, 'serve', '--config', config];
    return { port, ...(await this.boot(argv, port)) };
  }

  async #writeConfig(backend: Backend, port: number, special: Special): Promise<string> {
    const file = join(this.folder, `svc-${port}.json`);
    const webhook = { bind: `127.0.0.1:${port}`, outbound_url: `${this.#receiverUrl}/reply` };
    const base = { provider: 'local_runtime', model_id: 'bench', locality: 'local' };
    const models = [{ ...base, base_url: this.#modelUrl }];
    const policy = { kind: 'priority' };
    const path = special.database ?? join(this.folder, `svc-${port}.db`);
    const config = {
      channels: [{ type: 'webhook', token_env: 'BENCH_TOKEN', webhook }],
      brains: [{ name: 'bench', sensitivity: 'public', policy, models, agent: special.agent }],
      routes: [{ channel: 'webhook', brain: 'bench' }],
      observability: { addr: `127.0.0.1:${special.adminPort ?? (await freePort())}` },
      ...(special.adminPort === undefined ? {} : { admin: { token_env: 'BENCH_ADMIN_TOKEN' } }),
      ...(backend === 'durable' ? { storage: { path } } : {}),
    };
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  }

  /** Starts a process and waits for its port; `ms` is the time until then. */
  async boot(
    argv: readonly string[],
    port: number,
    more: Readonly<Record<string, string>> = {},
  ): Promise<{ pid: number; ms: number }> {
    const log = join(this.folder, `${port}.log`);
    const stderr = openSync(log, 'a');
    const startedAt = performance.now();
    const child = spawn(process.execPath, argv, {
      stdio: ['ignore', 'ignore', stderr],
      env: { ...process.env, BENCH_TOKEN: token, BENCH_ADMIN_TOKEN: adminToken, ...more },
    });
    closeSync(stderr);
    this.#children.add(child);
    while (!(await isOpen(port))) {
      const late = performance.now() - startedAt > 10_000;
      if (child.exitCode !== null || late) {
        throw new Error(`${argv.join(' ')} does not listen:\n${readFileSync(log, 'utf8')}`);
      }
      // A timer waits at least a millisecond, and a loop without a wait takes a core from the
      // start.
      Atomics.wait(nothing, 0, 0, 0.4);
    }
    return { pid: child.pid!, ms: performance.now() - startedAt };
  }

  async round(server: Server, load: Load): Promise<Measured> {
    const { port, pid } = server;
    this.#load.send({ ...load, port, token, pid } satisfies Round);
    const [answer] = (await once(this.#load, 'message')) as [{ measured: Measured }];
    return answer.measured;
  }

  /**
   * Puts the servers on one core, load and model on another, where there are `taskset` and two
   * cores. A process that shares or changes its core costs more CPU, by chance.
   */
  keepApart(servers: readonly Server[]): void {
    const cores = coresAllowed();
    if (cores.length < 2) return;
    const apart: [pid: number, core: number][] = servers.map(({ pid }) => [pid, cores.at(-1)!]);
    for (const { pid } of [this.#load, this.#model]) apart.push([pid!, cores[0]!]);
    for (const [pid, core] of apart) spawnSync('taskset', ['-acp', String(core), String(pid)]);
  }

  /** Sets the delay of the model; `letGo` ends the calls that it never answers. */
  orderModel(order: { delayMs?: number; letGo?: boolean }): void {
    this.#model.send(order);
  }

  /** Microseconds from each tool call of the model to the next request. */
  async agentGaps(): Promise<readonly number[]> {
    this.#model.send({ gaps: true });
    const [answer] = (await once(this.#model, 'message')) as [{ gapsUs: readonly number[] }];
    return answer.gapsUs;
  }

  /** Asks the process to stop, and kills it after some seconds. */
  async stop(pid: number): Promise<void> {
    const child = [...this.#children].find((other) => other.pid === pid);
    if (child === undefined) return;
    this.#children.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await ended;
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.stop(child.pid!)));
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Starts a script of this folder, which reports its port. @returns its process and its URL */
  async help(script: string): Promise<[ChildProcess, string]> {
    const child = fork(join(import.meta.dirname, script));
    this.#children.add(child);
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return [child, `http://127.0.0.1:${port}`];
  }
}

/** The cores that this process may use: Cpus_allowed_list of proc_pid_status(5), as `0-3,6`. */
function coresAllowed(): readonly number[] {
  const status = readFileSync('/proc/self/status', 'latin1');
  const list = /Cpus_allowed_list:\s+(\S+)/.exec(status)?.[1] ?? '0';
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number) as [number, number?];
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
