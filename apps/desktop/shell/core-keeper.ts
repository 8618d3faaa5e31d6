/**
 * Keeps a core: begins it, finds the one of an earlier shell, begins it again when it ended, and
 * ends it in order. What is decided, the machine in life-cycle.ts decides; here are the process,
 * its connection, and the timers.
 */
import type { Clock } from '../../../src/lib/clock.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import { lives } from '../../../src/lib/holders.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { ApplicationState, FromCore, ToCore, CoreOrders } from '../desktop.ts';
import type { Connection, Heard } from '../lines.ts';
import {
  newCycle,
  step,
  type Cycle,
  type Happening,
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
  /** What the core is where there is none of an earlier shell. */
  readonly role: Role;
  readonly begin: (role: Role) => CoreProcess;
  /** Where an earlier shell has written down which core it had. */
  readonly record: CoreRecord;
  readonly log: Log;
  readonly clock: Clock;
  /** None of these may throw. */
  readonly onState: (state: ApplicationState) => void;
  readonly onShowWanted: () => void;
  /** The shell's own page. */
  readonly page: () => string;
  /** It is to be at another address. */
  readonly onWithdrawn: () => void;
  readonly limits?: SupervisorLimits;
};

export type SupervisorLimits = {
  /** For a core of an earlier shell to connect. */
  readonly helloMs: number;
  /** From the request to end to a kill. */
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
  /** While a core of an earlier shell is waited for. */
  #hello: NodeJS.Timeout | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#limits = options.limits ?? supervisorLimits;
    this.#cycle = newCycle(options.role);
  }

  get state(): ApplicationState {
    return this.#cycle.state;
  }

  /** Resolves when there is no core, and will be none. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Waits for the core of before, where one is known and still runs; else begins one. */
  open(): void {
    const before = this.#options.record.read();
    if (before === null || !lives(before.pid)) return this.#happen({ kind: 'opened' });
    this.#options.log.info('core_awaited', 'A service of before is still there.', before);
    this.#hello = setTimeout(() => {
      this.#hello = null;
      this.#happen({ kind: 'opened' });
    }, this.#limits.helloMs);
  }

  restart(): void {
    this.#happen({ kind: 'restart' });
  }

  quit(): void {
    this.#stopWaiting();
    this.#happen({ kind: 'quit' });
  }

  /** Nothing is waited for any more: what the core has in hand, it keeps for its next start. */
  abandon(): void {
    this.#process?.signal('SIGTERM');
  }

  /** Nobody stays signed in, and the page is another one since. */
  withdraw(): void {
    this.link.send({ kind: 'withdraw' });
    this.#welcome();
  }

  #welcome(): void {
    this.link.send({ kind: 'welcome', page: this.#options.page() });
  }

  /** A core has connected to the shell's socket. */
  connected(hello: CoreHello, connection: Connection<ToCore>): Heard<FromCore> {
    if (!this.#isOurs(hello)) {
      this.#turnAway(hello);
      connection.send({ kind: 'stop' });
      return { onMessage: () => {}, onClose: () => {} };
    }
    this.link.attach(connection);
    if (this.#process === null) this.#take(hello);
    this.#welcome();
    if (this.#cycle.next !== null) connection.send({ kind: 'stop' });
    return {
      onMessage: (message) => this.#heard(message),
      onClose: () => this.link.lost(connection),
    };
  }

  #isOurs({ pid, config }: CoreHello): boolean {
    if (this.#process !== null) return this.#process.pid === pid;
    const isEnding = this.state.at === 'stopping' || this.state.at === 'stopped';
    return config === this.#options.config && !isEnding;
  }

  /** The core of another configuration ends; where it is the one that is waited for, ours comes. */
  #turnAway({ pid, config }: CoreHello): void {
    this.#options.log.warn('core_refused', 'Another service was told to end.', { pid, config });
    if (this.#hello === null) return;
    this.#stopWaiting();
    const begin = (): void => this.#happen({ kind: 'opened' });
    void endsWithin(watchCore(pid).ended, this.#limits.drainMs).then(begin);
  }

  /** The core of an earlier shell is now this one's. */
  #take({ pid, role }: CoreHello): void {
    this.#stopWaiting();
    this.#options.log.info('core_found', 'The service of before goes on.', { pid });
    this.#watch(watchCore(pid));
    this.#happen({ kind: 'found', role });
  }

  #heard(message: FromCore): void {
    switch (message.kind) {
      case 'core':
        return;
      case 'at_work': {
        const { origin, canWrite } = message;
        return this.#happen({ kind: 'at_work', origin, canWrite });
      }
      case 'leaving':
        return this.#happen({ kind: 'leaving' });
      case 'stuck':
        return this.#happen({ kind: 'stuck', why: message.why });
      case 'offered':
      case 'granted':
        return this.link.answered(message);
      case 'withdrawn':
        this.#options.onWithdrawn();
        return this.#welcome();
      case 'show_wanted':
        return this.#options.onShowWanted();
      case 'written':
        return this.#happen({ kind: 'written' });
      default:
        return message satisfies never;
    }
  }

  #happen(happening: Happening): void {
    const before = this.#cycle;
    const { cycle, acts } = step(before, happening, this.#options.clock);
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
          this.#pause = setTimeout(() => this.#happen({ kind: 'due' }), act.ms);
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
    // A log line has a `code` of its own.
    this.#options.log.info('core_ended', 'The service ended.', { exit_code: code, signal });
    this.#happen({ kind: 'ended', end });
  }

  /** In order, by a message where it listens to one already. */
  #stop(): void {
    const core = this.#process;
    if (core === null) return;
    this.#kill = setTimeout(() => {
      this.#options.log.warn('core_killed', 'The service did not end in time.');
      core.signal('SIGKILL');
    }, this.#limits.drainMs);
    // One that has not connected yet is told when it does; on Windows a signal would be a kill.
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

/**
 * The process of the core. It is begun apart from this one's terminal and group, so that it lives
 * on where the shell is killed; one that an earlier shell began is watched by its id.
 */
type Env = Readonly<Record<string, string | undefined>>;

export type CoreProcess = {
  /** null: it could not be begun. */
  readonly pid: number | null;
  /** Never rejects. */
  readonly ended: Promise<CoreEnd>;
  /** True: it was begun here. Of another one, an id is all that is known. */
  readonly isOwn: boolean;
  /** Does nothing where it has gone. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
};

type BeginOptions = {
  readonly program: OwnProgram;
  readonly env: Env;
  readonly orders: Omit<CoreOrders, 'lends'>;
  /** Secrets that no keychain keeps, by their names. */
  readonly inMemory?: ReadonlyMap<string, string>;
  /** Each line that it writes to its standard error, scrubbed. */
  readonly onLine: (line: string) => void;
};

/** How long its last words may take to come after its end. */
const wordsMs = 300;

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
  // Nothing of it keeps a shell from ending that was told to end at once.
  child.unref();
  // One that ends before it has read them says why by itself.
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
  await endsWithin(closed.promise, wordsMs);
  child.stderr?.destroy();
  return { code, signal, lastLines: lines.end() };
}

/** A core is no script of the npm that the shell may be one of: it ends when it is told to. */
function coreEnv(env: Env, orders: CoreOrders): Record<string, string | undefined> {
  const { npm_lifecycle_event: _ofNpm, ...own } = env;
  return { ...own, SVC_DESKTOP: JSON.stringify(orders) };
}

/** Where the person began the shell; no program starts in a folder that is gone meanwhile. */
function folderHere(): string {
  return [process.cwd(), homedir()].find((folder) => existsSync(folder)) ?? '/';
}

const lookEveryMs = 100;

/** One that was there before this shell, and has said which process it is. */
export function watchCore(pid: number): CoreProcess {
  const gone = Promise.withResolvers<CoreEnd>();
  const timer = setInterval(() => {
    if (lives(pid)) return;
    clearInterval(timer);
    gone.resolve({ code: null, signal: null, lastLines: [] });
  }, lookEveryMs).unref();
  return { pid, isOwn: false, ended: gone.promise, signal: (name) => sendTo(pid, name) };
}

function sendTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has gone.
  }
}

/**
 * What a core wrote where only people look: the last words of a crash. The shell knows no secret,
 * so it takes out what has the shape of one.
 */

const linesMax = 40;
const lineLengthMax = 1_000;

/** Keys, tokens and hashes: long, and of letters and digits both. A path has its slashes. */
const shaped = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}(?![\w-])/g;
/** What colours a terminal, and whatever else is not to be seen. */
const unprintable = /\p{Cc}\[[\d;]*[A-Za-z]|[\p{Cc}\p{Bidi_Control}]+/gu;

/** A line without its control sequences, and without what may be a secret. */
export function scrubByShape(line: string): string {
  const plain = line.replaceAll(unprintable, ' ');
  return plain.replaceAll(shaped, '[secret]').slice(0, lineLengthMax);
}

/** Makes lines of a stream's text, keeps the last ones, and tells each. */
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
    // A line without an end is cut: the rest of it counts as the next one.
    if (this.#begun.length > lineLengthMax) lines.push(this.#flush());
    for (const line of lines) this.#keep(line);
  }

  /** Oldest first, with one that was not ended. */
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

/** Which process the core is, so that the next shell knows that there is one to wait for. */
export type KnownCore = {
  readonly pid: number;
  /** The configuration file, absolute. */
  readonly config: string;
};

export type CoreRecord = {
  /** null: there was none, or nobody wrote it down. */
  read(): KnownCore | null;
  write(core: KnownCore): void;
  remove(): void;
};

/** What cannot be written costs a later shell its patience, and no more. */
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

/** The shell's end of the connection to the core: what is asked of it, and its answers. */
type Answer = Extract<FromCore, { readonly question: number }>;
type Waiting = (answer: Answer | null) => void;

/** It is of this machine, and has the answer at hand. */
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

  /** A newer connection takes the place of the one before. */
  attach(connection: Connection<ToCore>): void {
    this.lost(this.#connection);
    this.#connection = connection;
  }

  /** What was asked on it is answered by nobody any more. */
  lost(connection: Connection<ToCore> | null): void {
    if (connection === null || connection !== this.#connection) return;
    this.#connection = null;
    for (const answer of this.#waiting.values()) answer(null);
  }

  answered(answer: Answer): void {
    this.#waiting.get(answer.question)?.(answer);
  }

  /** The address of a page with a code for one use; null: there is nobody to ask. */
  async offer(): Promise<string | null> {
    const answer = await this.#ask('offer');
    return answer?.kind === 'offered' ? answer.url : null;
  }

  /** A token for a page of a window of its own; null also where the core is read-only. */
  async grant(): Promise<string | null> {
    const answer = await this.#ask('grant');
    return answer?.kind === 'granted' ? answer.token : null;
  }

  /** Lost where there is no connection. */
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
