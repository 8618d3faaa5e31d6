/**
 * The service as the core of the application: its sign-in, its log, and its connection to the
 * shell.
 */
import type { WindowAsked } from '../../../src/admin/application.ts';
import { SignIn } from '../../../src/admin/http/sign-in.ts';
import type { ConfigProblem } from '../../../src/config/problems.ts';
import { steadyNow, type SteadyTime } from '../../../src/lib/clock.ts';
import { createLog, type Log, type LogLevel } from '../../../src/lib/log.ts';
import { openLogFiles } from '../../../src/lib/log-files.ts';
import type { Around, Ending, WindowPlace } from '../../../src/app/run-contract.ts';
import type { CoreOrders, FromCore, Stuck, ToCore, MissingHere } from '../desktop.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import { keepConnected, type Link } from '../lines.ts';
import {
  describeMissing,
  type NamedSecret,
  type ResolvedSecrets,
} from '../../../src/config/secrets.ts';
import type { KeychainState } from '../../../src/domain/keychain-state.ts';

/** The name of the service's log, in the folder that the shell names. */
const logName = 'svc';

export class ServiceCore implements AsyncDisposable {
  readonly #orders: CoreOrders;
  readonly #stopping = new AbortController();
  readonly #link: CoreLink;
  readonly #signIn: SignIn;
  #place: WindowPlace | null = null;
  #log: Log | null = null;
  /** Aborts when a signal or the shell tells the process to stop. */
  readonly stop: AbortSignal;

  /**
   * Connects to the shell.
   * @param config the configuration file, absolute
   * @param stop aborts at a signal
   */
  constructor(orders: CoreOrders, config: string, stop: AbortSignal) {
    this.#orders = orders;
    this.stop = AbortSignal.any([stop, this.#stopping.signal]);
    this.#signIn = new SignIn(
      steadyNow,
      (traded) => {
        if (traded.kind === 'refused' && traded.why === 'used_twice') this.#usedTwice();
      },
      // The window may be hidden for days, and its page may send no request meanwhile.
      Infinity,
    );
    this.#link = openCoreLink(orders, {
      role: 'service',
      config,
      offer: () => `${this.#place?.origin}/ui#${this.#signIn.offer()}`,
      grant: () => (this.#place?.canWrite === true ? this.#signIn.grant() : null),
      withdraw: () => this.#signIn.withdraw(),
      stop: () => this.#stopping.abort(),
    });
    const leave = (): void => this.#link.leaving();
    if (this.stop.aborted) leave();
    this.stop.addEventListener('abort', leave, { once: true });
  }

  #usedTwice(): void {
    const what = 'A code that opens the pages was used twice, so whoever was signed in is not now.';
    this.#log?.warn('sign_in_withdrawn', what);
    this.#link.withdrawn();
  }

  /**
   * Opens the log of the service, in files.
   * @throws the file system's error if nothing can be written there
   */
  openLog(level: LogLevel): Log {
    const stream = openLogFiles({ folder: this.#orders.logFolder, name: logName });
    return createLog({ stream, level, format: 'json' });
  }

  /** From now on, the core logs its own events to this log. */
  logTo(log: Log): void {
    this.#log = log;
  }

  /** The settings of the admin server for a service that runs as a core. */
  get around(): Around {
    const link = this.#link;
    const signIn = this.#signIn;
    return {
      link: {
        signIn,
        get page() {
          return link.page;
        },
        showWindow: (): WindowAsked => link.showWindow(),
      },
      matches: signIn.matches,
      port: this.#orders.port,
    };
  }

  atWork(place: WindowPlace): void {
    this.#place = place;
    this.#link.atWork(place.origin, place.canWrite);
  }

  // Each `stuck` method resolves when the shell has the message, or when no shell connected in
  // time. None rejects.

  stuckByConfig(problems: readonly ConfigProblem[]): Promise<void> {
    return this.#link.stuck(stuckByConfig(problems));
  }

  stuckBySecrets(...why: Parameters<typeof stuckBySecrets>): Promise<void> {
    return this.#link.stuck(stuckBySecrets(...why));
  }

  /**
   * @returns false: nothing was sent, because a restart may help, or the service ended as wanted
   */
  async stuckByEnding(ending: Ending): Promise<boolean> {
    const why = stuckByEnding(ending);
    if (why !== null) await this.#link.stuck(why);
    return why !== null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link[Symbol.asyncDispose]();
  }
}

// The core's end of its connection to the shell, for the service and for the first run. Shells may
// go and come at any time. Each new one receives the latest messages from the beginning.

/** The role of a core, and the requests of its shell; no method may throw. */
type CoreRole = {
  readonly role: Extract<FromCore, { readonly kind: 'core' }>['role'];
  /** The configuration file, absolute. */
  readonly config: string;
  /** @returns the address of a page with a new code; called only once the core serves */
  readonly offer: () => string;
  /** @returns a token for a page that needs no code; null: nobody can change anything */
  readonly grant: () => string | null;
  readonly withdraw: () => void;
  /** Stops the core as SIGTERM does. */
  readonly stop: () => void;
};

export interface CoreLink extends AsyncDisposable {
  /** The address of the shell's own page; null: there is no shell now. */
  readonly page: string | null;
  /** Reports that the core's pages answer from now on. @param origin `http://127.0.0.1:<port>` */
  atWork(origin: string, canWrite: boolean): void;
  /** Reports that the core will end soon. */
  leaving(): void;
  /** Resolves when the shell has the message, or when no shell connected in time. Never rejects. */
  stuck(why: Stuck): Promise<void>;
  /** Reports that the first run is over, and that the shell must start the service. */
  written(): void;
  /** Reports that a code was used twice, and that everybody was signed out. */
  withdrawn(): void;
  /** Asks the shell for a window that is signed in; at most once in `windowMs`. */
  showWindow(): WindowAsked;
}

export type CoreLinkTimes = {
  /** How long a core that ends waits for a shell to connect and read why. */
  readonly shellMs: number;
  /** The shortest time between two requests of pages for a window. */
  readonly windowMs: number;
};
const defaultTimes: CoreLinkTimes = { shellMs: 2_000, windowMs: 5_000 };

const closeMs = 1_000;
/** The most questions that wait for the pages; a shell asks one at a time. */
const questionsMax = 16;

/** Connects, and stays connected until disposal. Disposal first sends what is still buffered. */
export function openCoreLink(
  { socket }: Pick<CoreOrders, 'socket'>,
  role: CoreRole,
  steady: () => SteadyTime = steadyNow,
  times: Partial<CoreLinkTimes> = {},
): CoreLink {
  return new ShellLink(socket, role, steady, { ...defaultTimes, ...times });
}

type StateMessage = Extract<
  FromCore,
  { readonly kind: 'at_work' | 'leaving' | 'stuck' | 'written' }
>;

class ShellLink implements CoreLink {
  readonly #role: CoreRole;
  readonly #steady: () => SteadyTime;
  readonly #times: CoreLinkTimes;
  readonly #link: Link<FromCore>;
  /** The latest message of each kind, for a shell that connects later. */
  readonly #latest = new Map<StateMessage['kind'], StateMessage>();
  readonly #connected = Promise.withResolvers<void>();
  #page: string | null = null;
  #questions: number[] = [];
  #askedAt: SteadyTime | null = null;

  constructor(path: string, role: CoreRole, steady: () => SteadyTime, times: CoreLinkTimes) {
    this.#role = role;
    this.#steady = steady;
    this.#times = times;
    this.#link = keepConnected<ToCore, FromCore>({
      path,
      onConnected: () => this.#begin(),
      onMessage: (message) => this.#onMessage(message),
      onLost: () => {
        this.#page = null;
        this.#questions = [];
      },
    });
  }

  get page(): string | null {
    return this.#page;
  }

  atWork(origin: string, canWrite: boolean): void {
    this.#publish({ kind: 'at_work', origin, canWrite });
    const questions = this.#questions;
    this.#questions = [];
    for (const question of questions) this.#offer(question);
  }

  leaving(): void {
    this.#latest.delete('at_work');
    this.#publish({ kind: 'leaving' });
  }

  async stuck(why: Stuck): Promise<void> {
    this.#publish({ kind: 'stuck', why });
    await endsWithin(this.#connected.promise, this.#times.shellMs);
  }

  written(): void {
    this.#publish({ kind: 'written' });
  }

  withdrawn(): void {
    // Every client that was signed in knows the page's former address.
    this.#page = null;
    this.#link.send({ kind: 'withdrawn' });
  }

  showWindow(): WindowAsked {
    if (this.#page === null) return { kind: 'no_shell' };
    const now = this.#steady();
    const afterMs = this.#askedAt === null ? 0 : this.#askedAt + this.#times.windowMs - now;
    if (afterMs > 0) return { kind: 'too_soon', afterMs };
    this.#askedAt = now;
    this.#link.send({ kind: 'show_wanted' });
    return { kind: 'asked' };
  }

  /** Waits at most `closeMs` for a shell that does not read. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endsWithin(this.#link.end(), closeMs);
    this.#link[Symbol.dispose]();
  }

  #begin(): readonly FromCore[] {
    const { role, config } = this.#role;
    this.#connected.resolve();
    return [{ kind: 'core', role, pid: process.pid, config }, ...this.#latest.values()];
  }

  #publish(message: StateMessage): void {
    this.#latest.set(message.kind, message);
    this.#link.send(message);
  }

  #onMessage(message: ToCore): void {
    switch (message.kind) {
      case 'welcome':
        this.#page = message.page;
        return;
      case 'offer':
        return this.#offer(message.question);
      case 'grant':
        return this.#grant(message.question);
      case 'withdraw':
        return this.#role.withdraw();
      case 'stop':
        return this.#role.stop();
      default:
        // A newer shell may send messages that this core does not know.
        return void (message satisfies never);
    }
  }

  #offer(question: number): void {
    if (this.#latest.has('at_work')) {
      this.#link.send({ kind: 'offered', question, url: this.#role.offer() });
    } else if (this.#questions.length < questionsMax) {
      this.#questions.push(question);
    }
  }

  #grant(question: number): void {
    this.#link.send({ kind: 'granted', question, token: this.#role.grant() });
  }
}

// Why a service does not start, as facts for a page; `svc serve` prints the same in words. Pure.

function stuckByConfig(problems: readonly ConfigProblem[]): Stuck {
  const errors = problems.filter(({ severity }) => severity === 'error');
  return {
    of: 'config',
    problems: errors.map(({ path, line, message, remedy }) => ({ path, line, message, remedy })),
  };
}

type KeychainSummary = { readonly state: KeychainState; readonly told: string | null };

/** @param named the secrets that the configuration names */
export function stuckBySecrets(
  { missing, unfit }: Pick<ResolvedSecrets, 'missing' | 'unfit'>,
  named: readonly NamedSecret[],
  { state, told }: KeychainSummary,
): Stuck {
  const unset = missing.map((one): MissingHere => {
    const { name, usedAt, found } = one;
    // The page explains once, with a button, what to do about the keychain.
    const isOfPlace = found.kind === 'unreadable' && found.source !== 'keychain';
    const remedy = isOfPlace ? ` ${found.remedy}` : '';
    return { name, usedAt, why: `${describeMissing(one)}.${remedy}` };
  });
  const unusable = unfit.map(({ path, message, remedy }): MissingHere => {
    const name = named.find(({ usedAt }) => usedAt.includes(path))?.name ?? path;
    const why = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}. ${remedy}`;
    return { name, usedAt: [path], why };
  });
  return { of: 'secrets', missing: [...unset, ...unusable], keychain: state, told };
}

/** @returns null: a restart may help, or the service ended as wanted */
function stuckByEnding(ending: Ending): Stuck | null {
  switch (ending.kind) {
    case 'ended':
      return null;
    case 'failed':
      return ending.code === 'storage_locked' ? { of: 'in_use', message: ending.message } : null;
    case 'refused': {
      const { code, message, unbound } = ending;
      return unbound === null
        ? stuckOtherwise(code, message)
        : { of: 'address', ...unbound, message };
    }
    default:
      return ending satisfies never;
  }
}

function stuckOtherwise(code: string, message: string): Stuck {
  return { of: 'other', code, message };
}
