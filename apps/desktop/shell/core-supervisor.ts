/**
 * Keeps a core running: it starts it, finds the core of an earlier shell, starts it again after it
 * ended, and drains it at the end. The state machine in life-cycle.ts decides; this file has the
 * process, its connection and the timers.
 */
import type { Clock } from '../../../src/lib/clock.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import { isProcessAlive } from '../../../src/lib/holders.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { ApplicationState, FromCore, ToCore, CoreOrders } from '../desktop.ts';
import type { Connection, ConnectionHandlers } from '../lines.ts';
import {
  newCycle,
  step,
  type Cycle,
  type CycleEvent,
  type Role,
  type CoreEnd,
} from './life-cycle.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import type { OwnProgram } from '../../../src/lib/program.ts';
import { inMemoryText } from '../core/in-memory-secrets.ts';

export type CoreHello = Extract<FromCore, { readonly kind: 'core' }>;

export type SupervisorOptions = {
  /** The configuration file, absolute. */
  readonly config: string;
  /** The role of the core, if there is none of an earlier shell. */
  readonly role: Role;
  readonly begin: (role: Role) => CoreProcess;
  /** The record of the core that an earlier shell started. */
  readonly record: CoreRecord;
  readonly log: Log;
  readonly clock: Clock;
  /** None of these may throw. */
  readonly onState: (state: ApplicationState) => void;
  readonly onShowWanted: () => void;
  /** The address of the shell's own page. */
  readonly page: () => string;
  /** Called when the shell's page must move to another address. */
  readonly onWithdrawn: () => void;
  readonly limits?: SupervisorLimits;
};

export type SupervisorLimits = {
  /** The time for a core of an earlier shell to connect. */
  readonly helloMs: number;
  /** The time from the request to end until a kill. */
  readonly drainMs: number;
};

const supervisorLimits: SupervisorLimits = { helloMs: 2_000, drainMs: 45_000 };

export class CoreSupervisor {
  readonly link = new CoreLink();
  readonly #options: SupervisorOptions;
  readonly #limits: SupervisorLimits;
  readonly #over = Promise.withResolvers<void>();
  #cycle: Cycle;
  #process: CoreProcess | null = null;
  #pause: NodeJS.Timeout | null = null;
  #kill: NodeJS.Timeout | null = null;
  /** Set while the shell waits for a core of an earlier shell. */
  #hello: NodeJS.Timeout | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#limits = options.limits ?? supervisorLimits;
    this.#cycle = newCycle(options.role);
  }

  get state(): ApplicationState {
    return this.#cycle.state;
  }

  /** Resolves when there is no core, and there will be none. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Waits for the earlier shell's core if one is recorded and still runs; else starts one. */
  open(): void {
    const before = this.#options.record.read();
    if (before === null || !isProcessAlive(before.pid)) return this.#apply({ kind: 'opened' });
    this.#options.log.info('core_awaited', 'A service of before is still there.', before);
    this.#hello = setTimeout(() => {
      this.#hello = null;
      this.#apply({ kind: 'opened' });
    }, this.#limits.helloMs);
  }

  restart(): void {
    this.#apply({ kind: 'restart' });
  }

  quit(): void {
    this.#stopWaiting();
    this.#apply({ kind: 'quit' });
  }

  /** Stops waiting for the core to drain. The core keeps its unfinished work for its next start. */
  abandon(): void {
    this.#process?.signal('SIGTERM');
  }

  /** Signs everybody out, and sends the core the new address of the page. */
  withdraw(): void {
    this.link.send({ kind: 'withdraw' });
    this.#welcome();
  }

  #welcome(): void {
    this.link.send({ kind: 'welcome', page: this.#options.page() });
  }

  /** Handles a core that connected to the shell's socket. */
  connected(hello: CoreHello, connection: Connection<ToCore>): ConnectionHandlers<FromCore> {
    if (!this.#isOwnCore(hello)) {
      this.#turnAway(hello);
      connection.send({ kind: 'stop' });
      return { onMessage: () => {}, onClose: () => {} };
    }
    this.link.attach(connection);
    if (this.#process === null) this.#take(hello);
    this.#welcome();
    if (this.#cycle.next !== null) connection.send({ kind: 'stop' });
    return {
      onMessage: (message) => this.#onMessage(message),
      onClose: () => this.link.lost(connection),
    };
  }

  #isOwnCore({ pid, config }: CoreHello): boolean {
    if (this.#process !== null) return this.#process.pid === pid;
    const isEnding = this.state.at === 'stopping' || this.state.at === 'stopped';
    return config === this.#options.config && !isEnding;
  }

  /**
   * Tells a core of another configuration to end. If the shell was waiting for this core, it starts
   * its own one after that.
   */
  #turnAway({ pid, config }: CoreHello): void {
    this.#options.log.warn('core_refused', 'Another service was told to end.', { pid, config });
    if (this.#hello === null) return;
    this.#stopWaiting();
    const begin = (): void => this.#apply({ kind: 'opened' });
    void endsWithin(watchCore(pid).ended, this.#limits.drainMs).then(begin);
  }

  /** Takes over the core of an earlier shell. */
  #take({ pid, role }: CoreHello): void {
    this.#stopWaiting();
    this.#options.log.info('core_found', 'The service of before goes on.', { pid });
    this.#watch(watchCore(pid));
    this.#apply({ kind: 'found', role });
  }

  #onMessage(message: FromCore): void {
    switch (message.kind) {
      case 'core':
        return;
      case 'at_work': {
        const { origin, canWrite } = message;
        return this.#apply({ kind: 'at_work', origin, canWrite });
      }
      case 'leaving':
        return this.#apply({ kind: 'leaving' });
      case 'stuck':
        return this.#apply({ kind: 'stuck', why: message.why });
      case 'offered':
      case 'granted':
        return this.link.answered(message);
      case 'withdrawn':
        this.#options.onWithdrawn();
        return this.#welcome();
      case 'show_wanted':
        return this.#options.onShowWanted();
      case 'written':
        return this.#apply({ kind: 'written' });
      default:
        return message satisfies never;
    }
  }

  #apply(event: CycleEvent): void {
    const before = this.#cycle;
    const { cycle, acts } = step(before, event, this.#options.clock);
    this.#cycle = cycle;
    for (const act of acts) {
      switch (act.kind) {
        case 'begin':
          this.#begin(act.role);
          break;
        case 'stop':
          this.#stop();
          break;
        case 'wait':
          this.#pause = setTimeout(() => this.#apply({ kind: 'due' }), act.ms);
          break;
        case 'end':
          this.#clear();
          this.#over.resolve();
          break;
        default:
          act satisfies never;
      }
    }
    if (cycle.state !== before.state) this.#options.onState(cycle.state);
  }

  #begin(role: Role): void {
    this.#clear();
    this.#options.log.info('core_begins', 'The service begins.', { role });
    this.#watch(this.#options.begin(role));
  }

  #watch(core: CoreProcess): void {
    this.#process = core;
    const { record, config } = this.#options;
    if (core.pid !== null) record.write({ pid: core.pid, config });
    void this.#awaitEnd(core);
  }

  async #awaitEnd(core: CoreProcess): Promise<void> {
    const end = await core.ended;
    this.#clear();
    this.#process = null;
    this.#options.record.remove();
    const { code, signal } = end;
    // The name is `exit_code` since a log line already has a `code`.
    this.#options.log.info('core_ended', 'The service ended.', { exit_code: code, signal });
    this.#apply({ kind: 'ended', end });
  }

  /** Asks the core to drain and end, by a message if it is connected; kills it after `drainMs`. */
  #stop(): void {
    const core = this.#process;
    if (core === null) return;
    this.#kill = setTimeout(() => {
      this.#options.log.warn('core_killed', 'The service did not end in time.');
      core.signal('SIGKILL');
    }, this.#limits.drainMs);
    // A core that has not connected yet gets the message when it does. On Windows a signal would be
    // a kill.
    if (this.link.isConnected) this.link.send({ kind: 'stop' });
    else if (core.isOwn && process.platform !== 'win32') core.signal('SIGTERM');
  }

  #clear(): void {
    for (const timer of [this.#pause, this.#kill]) if (timer !== null) clearTimeout(timer);
    this.#pause = null;
    this.#kill = null;
  }

  #stopWaiting(): void {
    if (this.#hello !== null) clearTimeout(this.#hello);
    this.#hello = null;
  }
}

// The process of the core. It has its own process group and no terminal, so it lives on if the
// shell is killed. The shell watches the core of an earlier shell by its process id.

type Env = Readonly<Record<string, string | undefined>>;

export type CoreProcess = {
  /** null: the process could not be started. */
  readonly pid: number | null;
  /** Never rejects. */
  readonly ended: Promise<CoreEnd>;
  /** True: this shell started it. Of another core, only the id is known. */
  readonly isOwn: boolean;
  /** Does nothing if the process is gone. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
};

type BeginOptions = {
  readonly program: OwnProgram;
  readonly env: Env;
  readonly orders: Omit<CoreOrders, 'lends'>;
  /** Secrets that no keychain keeps, by their names. */
  readonly inMemory?: ReadonlyMap<string, string>;
  /** Called with each line of its standard error, without what looks like a secret. */
  readonly onLine: (line: string) => void;
};

/** How long the last output may take to arrive after the process ended. */
const lastOutputMs = 300;

export function beginCore(options: BeginOptions): CoreProcess {
  const { program, env, orders, inMemory = new Map<string, string>(), onLine } = options;
  const lends = inMemory.size > 0;
  const child = spawn(program.file, [...program.args], {
    cwd: folderHere(),
    env: coreEnv(env, { ...orders, lends }),
    stdio: [lends ? 'pipe' : 'ignore', 'ignore', 'pipe'],
    detached: true,
    windowsHide: true,
  });
  // The child does not keep alive a shell that must end at once.
  child.unref();
  // A core that ends before it has read the secrets reports the reason by itself.
  child.stdin?.on('error', () => {}).end(inMemoryText(inMemory));
  const lines = new LastLines(onLine);
  child.stderr!.setEncoding('utf8').on('data', (text: string) => lines.take(text));
  return {
    pid: child.pid ?? null,
    isOwn: true,
    ended: endOf(child, lines),
    signal: (name) => void child.kill(name),
  };
}

async function endOf(child: ChildProcess, lines: LastLines): Promise<CoreEnd> {
  const over = Promise.withResolvers<Pick<CoreEnd, 'code' | 'signal'>>();
  const closed = Promise.withResolvers<void>();
  child.once('exit', (code, signal) => over.resolve({ code, signal }));
  child.once('close', () => closed.resolve());
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    lines.take(`${error.message}\n`);
    over.resolve({ code: null, signal: null });
    closed.resolve();
  });
  const { code, signal } = await over.promise;
  await endsWithin(closed.promise, lastOutputMs);
  child.stderr?.destroy();
  return { code, signal, lastLines: lines.end() };
}

/**
 * Removes the mark of an npm script, which the shell may be one of: a core must end when it is told
 * to.
 */
function coreEnv(env: Env, orders: CoreOrders): Record<string, string | undefined> {
  const { npm_lifecycle_event: _ofNpm, ...own } = env;
  return { ...own, SVC_DESKTOP: JSON.stringify(orders) };
}

/**
 * The folder that the shell was started in, or another one if that is gone: no program can start in
 * a missing folder.
 */
function folderHere(): string {
  return [process.cwd(), homedir()].find((folder) => existsSync(folder)) ?? '/';
}

const checkEveryMs = 100;

/** Watches a core that an earlier shell started, and that sent its process id. */
export function watchCore(pid: number): CoreProcess {
  const gone = Promise.withResolvers<CoreEnd>();
  const timer = setInterval(() => {
    if (isProcessAlive(pid)) return;
    clearInterval(timer);
    gone.resolve({ code: null, signal: null, lastLines: [] });
  }, checkEveryMs).unref();
  return { pid, isOwn: false, ended: gone.promise, signal: (name) => sendTo(pid, name) };
}

function sendTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process is gone.
  }
}

// The last lines of a core's standard error, for people who look into a crash. The shell knows no
// secret, so it removes everything that looks like one.

const linesMax = 40;
const lineLengthMax = 1_000;

/**
 * Keys, tokens and hashes: long, with both letters and digits. Slashes end a match, so paths stay.
 */
const secretShape = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}(?![\w-])/g;
/** Control sequences of a terminal, and other invisible characters. */
const unprintable = /\p{Cc}\[[\d;]*[A-Za-z]|[\p{Cc}\p{Bidi_Control}]+/gu;

/** Removes control sequences from a line, and everything that looks like a secret. */
export function scrubByShape(line: string): string {
  const plain = line.replaceAll(unprintable, ' ');
  return plain.replaceAll(secretShape, '[secret]').slice(0, lineLengthMax);
}

/** Splits a stream's text into lines, keeps the last ones, and reports each. */
export class LastLines {
  readonly #onLine: (line: string) => void;
  #lines: string[] = [];
  #begun = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  take(text: string): void {
    const lines = (this.#begun + text).split('\n');
    this.#begun = lines.pop()!;
    // A line that is too long is cut; its rest counts as the next line.
    if (this.#begun.length > lineLengthMax) lines.push(this.#flush());
    for (const line of lines) this.#keep(line);
  }

  /** @returns the last lines, oldest first, with an unfinished one */
  end(): readonly string[] {
    if (this.#begun !== '') this.#keep(this.#flush());
    return this.#lines;
  }

  #flush(): string {
    const line = this.#begun;
    this.#begun = '';
    return line;
  }

  #keep(line: string): void {
    const clean = scrubByShape(line);
    if (clean.trim() === '') return;
    this.#lines = [...this.#lines, clean].slice(-linesMax);
    this.#onLine(clean);
  }
}

/**
 * The record of the core's process, so that the next shell knows that there is a core to wait for.
 */
export type KnownCore = {
  readonly pid: number;
  /** The configuration file, absolute. */
  readonly config: string;
};

export type CoreRecord = {
  /** null: there was no core, or no record of it. */
  read(): KnownCore | null;
  write(core: KnownCore): void;
  remove(): void;
};

/** A file error is ignored: a later shell then only fails to wait for the core. */
export function createCoreRecord(file: string): CoreRecord {
  return {
    read: () => parse(quietly(() => readFileSync(file, 'utf8')) ?? ''),
    write: (core) =>
      void quietly(() => writeFileSync(file, `${JSON.stringify(core)}\n`, { mode: 0o600 })),
    remove: () => void quietly(() => rmSync(file, { force: true })),
  };
}

function parse(text: string): KnownCore | null {
  const read = quietly(() => JSON.parse(text) as unknown);
  if (typeof read !== 'object' || read === null) return null;
  const { pid, config } = read as Readonly<Record<string, unknown>>;
  const isKnown = typeof pid === 'number' && pid > 0 && typeof config === 'string';
  return isKnown && Number.isSafeInteger(pid) ? { pid, config } : null;
}

function quietly<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}

// The shell's end of the connection to the core: its questions and their answers.

type Answer = Extract<FromCore, { readonly question: number }>;
type Waiting = (answer: Answer | null) => void;

/** The core is on this machine, and answers without delay. */
const answerMs = 5_000;

class CoreLink {
  readonly #answerMs: number;
  #connection: Connection<ToCore> | null = null;
  #asked = 0;
  readonly #waiting = new Map<number, Waiting>();

  constructor(waitMs = answerMs) {
    this.#answerMs = waitMs;
  }

  get isConnected(): boolean {
    return this.#connection !== null;
  }

  /** A new connection replaces the former one. */
  attach(connection: Connection<ToCore>): void {
    this.lost(this.#connection);
    this.#connection = connection;
  }

  /** Settles the questions of a lost connection with null. */
  lost(connection: Connection<ToCore> | null): void {
    if (connection === null || connection !== this.#connection) return;
    this.#connection = null;
    for (const answer of this.#waiting.values()) answer(null);
  }

  answered(answer: Answer): void {
    this.#waiting.get(answer.question)?.(answer);
  }

  /** @returns the address of a page with a code for one use; null: there is no core to ask */
  async offer(): Promise<string | null> {
    const answer = await this.#ask('offer');
    return answer?.kind === 'offered' ? answer.url : null;
  }

  /** @returns a token for a webview's page; null: there is no core to ask, or it is read-only */
  async grant(): Promise<string | null> {
    const answer = await this.#ask('grant');
    return answer?.kind === 'granted' ? answer.token : null;
  }

  /** Without a connection, the message is lost. */
  send(message: ToCore): void {
    this.#connection?.send(message);
  }

  #ask(kind: 'offer' | 'grant'): Promise<Answer | null> {
    if (this.#connection === null) return Promise.resolve(null);
    const question = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<Answer | null>();
    const timer = setTimeout(() => settle(null), this.#answerMs);
    const settle = (answer: Answer | null): void => {
      clearTimeout(timer);
      this.#waiting.delete(question);
      resolve(answer);
    };
    this.#waiting.set(question, settle);
    this.#connection.send({ kind, question });
    return promise;
  }
}
