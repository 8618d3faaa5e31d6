/**
 * The base of every counterpart in `npm run world`: it installs third-party programs into
 * `.tmp/world/`, and starts them and a svc. All processes end with the counterpart that started
 * them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import {
  freePort,
  scratch,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { followed, root, type Run } from '../support/run-svc.ts';
import { patienceMs } from '../support/waiting.ts';
import { goPrograms, npmSets, pythonSets, wheels } from './versions.ts';

export type Counterpart = {
  /** The name for `--only`. */
  readonly name: string;
  /** Where its programs come from, for the printed line. */
  readonly of: string;
  /** @throws NotTried where the programs cannot be installed or run */
  readonly run: (world: World) => Promise<void>;
};

/** The counterpart cannot run here: a registry cannot be reached, a language is missing. */
export class NotTried extends Error {}

/** A running svc with a webhook, as a counterpart uses it. */
export type Svc = {
  /** The address for messages. */
  readonly url: string;
  readonly admin: string;
  readonly folder: string;
  readonly file: string;
  readonly receiver: Receiver;
  log(): string;
  /** Sends a message in a new conversation; resolves with the text of its reply. */
  say(text: string): Promise<string>;
};

export const operatorToken = 'an-operator-token-of-the-world-0123456789';
const cache = join(root, '.tmp', 'world');
/** The time limit of an install. */
const installMs = 15 * patienceMs;

export class World implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #stack = new AsyncDisposableStack();
  readonly #differences: string[] = [];
  #checks = 0;

  /** How many comparisons were made. */
  get checks(): number {
    return this.#checks;
  }

  get differences(): readonly string[] {
    return this.#differences;
  }

  /** Records a difference and goes on: one run shows all differences of a counterpart. */
  check(what: string, holds: boolean, seen: unknown = ''): void {
    this.#checks++;
    if (holds) return;
    const text = typeof seen === 'string' ? seen : JSON.stringify(seen);
    this.#differences.push(`${what}: ${text.slice(0, 600)}`);
  }

  /** Adds comparisons that the program made itself. */
  made(checks: number): void {
    this.#checks += checks;
  }

  equal(what: string, seen: unknown, expected: unknown): void {
    const [one, other] = [JSON.stringify(seen), JSON.stringify(expected)];
    this.check(what, one === other, `expected ${other}, seen ${one}`);
  }

  use<T extends AsyncDisposable>(value: T): T {
    return this.#stack.use(value);
  }

  async folder(): Promise<string> {
    return this.use(await scratch()).path;
  }

  /** A web server of this process. `asked` counts its requests. */
  async server(answer: RequestListener) {
    let requests = 0;
    const server = createServer((request, response) => {
      requests++;
      request.resume();
      answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/`, asked: () => requests };
  }

  /** Starts a program in its own process group, which ends with the counterpart. */
  start(program: string, args: readonly string[], options: StartOptions = {}): Run {
    this.#stop.signal.throwIfAborted();
    const child = spawn(program, args, {
      cwd: options.cwd ?? cache,
      env: environmentOf(options.env),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    child.on('error', () => {});
    const run = followed(child);
    this.#stack.defer(async () => {
      if (child.pid === undefined) return;
      // svc ends the programs that it started, if it has time for it.
      end(child.pid, 'SIGTERM');
      const timer = setTimeout(() => end(child.pid, 'SIGKILL'), patienceMs / 20);
      await run.ended;
      clearTimeout(timer);
      end(child.pid, 'SIGKILL');
    });
    return run;
  }

  /** Runs a program to its end. @returns its exit code, null where a signal ended it */
  async outcome(program: string, args: readonly string[], options: StartOptions = {}) {
    const run = this.start(program, args, options);
    run.child.stdin!.end();
    const { code } = await run.ended;
    return { code, out: run.out(), err: run.err() };
  }

  /**
   * A svc with storage and an operator, and a receiver of its replies.
   * @param model fields of its one model: provider, base_url …
   * @param more `brain`, `webhook`, `whole`: fields of its brain, of its webhook and of the whole
   * configuration; `brains`: further ones; `before`: runs when the configuration is written
   */
  async svc(
    model: { readonly base_url: string } & Readonly<Record<string, unknown>>,
    more: {
      readonly brain?: object;
      readonly webhook?: object;
      readonly whole?: object;
      readonly brains?: readonly Record<string, unknown>[];
      readonly env?: Record<string, string>;
      readonly receiverUrl?: string;
      readonly before?: (file: string) => Promise<void>;
    } = {},
  ): Promise<Svc> {
    const folder = await this.folder();
    const receiver = this.use(await startReceiver());
    const [port, adminPort] = [await freePort(), await freePort()];
    const receiverUrl = more.receiverUrl ?? receiver.url;
    const config = webhookConfig({ port, adminPort, modelUrl: model.base_url, receiverUrl });
    const brain = config.brains[0]!;
    Object.assign((brain['models'] as object[])[0]!, { max_retries: 0 }, model);
    Object.assign(brain, more.brain);
    Object.assign(config.channels[0]!['webhook'] as object, more.webhook);
    config.brains.push(...(more.brains ?? []));
    const own = { storage: { path: 'svc.db' }, admin: { token_env: 'ADMIN_TOKEN' } };
    const whole = { ...config, ...own, ...more.whole };
    const file = await writeConfig(folder, whole);
    await more.before?.(file);
    const env = { ADMIN_TOKEN: operatorToken, ...more.env };
    this.#stop.signal.throwIfAborted();
    const args = ['serve', '--config', file];
    const program = this.use(startProgram(args, { WEBHOOK_SECRET: secret, ...env }));
    await program.saw('"listening"');
    const url = `http://127.0.0.1:${port}/webhook`;
    let sent = 0;
    return {
      url,
      admin: `http://127.0.0.1:${adminPort}`,
      folder,
      file,
      receiver,
      log: program.log,
      async say(text) {
        const id = `person-${++sent}`;
        const before = receiver.received.length;
        const response = await sendTo(url, JSON.stringify({ sender_id: id, text }));
        if (response.status !== 200)
          throw new Error(`${response.status}: ${await response.text()}`);
        const replies = await receiver.waitFor(before + 1);
        return String(replies[before]!.body['text']);
      },
    };
  }

  /** @returns the `bin` folder of a virtual environment that has the set */
  async python(set: keyof typeof pythonSets): Promise<string> {
    const place = join(cache, `python-${set}`);
    const packages = pythonSets[set];
    await this.#installed(place, packages, async () => {
      const version = await this.need('python3', ['--version']);
      if (!/^Python 3\.(?:1\d|[2-9]\d)/.test(version)) {
        throw new NotTried(`it needs Python 3.10 or newer; python3 is ${version.trim()}`);
      }
      await this.need('python3', ['-m', 'venv', place]);
      const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', ...packages];
      await this.need(join(place, 'bin', 'python'), pip);
    });
    return join(place, 'bin');
  }

  /** @returns the folder with the files of a wheel */
  async wheel(name: keyof typeof wheels): Promise<string> {
    const place = join(cache, `wheel-${name}`);
    await this.#installed(place, [wheels[name]], async () => {
      const target = ['--no-deps', '--no-compile', '--target', place];
      await this.need('python3', ['-m', 'pip', 'install', '-q', ...target, wheels[name]]);
    });
    return place;
  }

  /** @returns the program */
  async go(name: keyof typeof goPrograms): Promise<string> {
    const place = join(cache, `go-${name}`);
    const source = goPrograms[name];
    await this.#installed(place, [source], async () => {
      await this.need('go', ['version']);
      await this.need('env', [`GOBIN=${place}`, 'go', 'install', source]);
    });
    return join(place, /(\w+)@/.exec(source)![1]!);
  }

  /** @returns the `node_modules` folder that has the set */
  async npm(set: keyof typeof npmSets): Promise<string> {
    const place = join(cache, `npm-${set}`);
    const packages = Object.entries(npmSets[set]).map(([name, version]) => `${name}@${version}`);
    await this.#installed(place, packages, async () => {
      const quiet = ['--loglevel=error', '--ignore-scripts', '--no-audit', '--no-fund'];
      await this.need('npm', ['install', '--prefix', place, ...quiet, ...packages]);
    });
    return join(place, 'node_modules');
  }

  /** Ends all processes. No further one can start. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    return this.#stack.disposeAsync();
  }

  /** Installs again if the list changed, or if the last install was interrupted. */
  async #installed(place: string, list: readonly string[], install: () => Promise<void>) {
    const stamp = join(place, '.installed');
    const wanted = list.join('\n');
    if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return;
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true });
    await install();
    await writeFile(stamp, wanted);
  }

  /** Runs a required program to its end. @returns its output @throws NotTried where it fails */
  async need(program: string, args: readonly string[]): Promise<string> {
    const run = this.start(program, args);
    const timer = setTimeout(() => end(run.child.pid, 'SIGKILL'), installMs);
    const failed = new Promise<never>((_, reject) => run.child.on('error', reject));
    try {
      const { code } = await Promise.race([run.ended, failed]);
      if (code === 0) return run.out() + run.err();
      const lines = run.err().trim().split('\n');
      const why =
        lines
          .filter((line) => /error/i.test(line))
          .slice(0, 3)
          .join(' ') || lines.at(-1);
      throw new NotTried(`${program} ${args.join(' ')} ended with ${code}: ${why}`.slice(0, 600));
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
      throw new NotTried(`there is no ${program} in PATH`);
    } finally {
      clearTimeout(timer);
    }
  }
}

type StartOptions = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> };

/** The environment of this process without secrets: third-party programs get none. */
function environmentOf(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !isSecret.test(name));
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  const python = { PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' };
  return { HOME: tmpdir(), ...Object.fromEntries(own), ...python, PATH: path, ...more };
}

const isSecret = /(?:key|token|secret|password|credentials)$/i;

function end(pid: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has no process left.
  }
}

/** Sends a body to the webhook as its sender. */
export function sendTo(url: string, body: string | Uint8Array): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body });
}
