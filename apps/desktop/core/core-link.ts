/**
 * The core's end of its connection to the shell, for the service and for the first run. A shell may
 * go and another come at any time: each is told the same, from the beginning.
 */
import type { WindowAsked } from '../../../src/admin/application.ts';
import { steadyNow, type SteadyTime } from '../../../src/lib/clock.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import type { CoreOrders, FromCore, Stuck, ToCore } from '../desktop.ts';
import { keepConnected, type Link } from '../lines.ts';

/** What a core is, and what its shell may have it do; none of it may throw. */
export type CoreRole = {
  readonly role: Extract<FromCore, { readonly kind: 'core' }>['role'];
  /** The configuration file, absolute. */
  readonly config: string;
  /** A page with a new code, as an address; asked once it is at work. */
  readonly offer: () => string;
  /** A token for a page that needs no code; null: nobody can change anything. */
  readonly grant: () => string | null;
  readonly withdraw: () => void;
  /** As a SIGTERM. */
  readonly stop: () => void;
};

export interface CoreLink extends AsyncDisposable {
  /** The shell's own page; null: there is no shell now. */
  readonly page: string | null;
  /** Its pages answer from now on. @param origin `http://127.0.0.1:<port>` */
  atWork(origin: string, canWrite: boolean): void;
  /** Its pages do not answer for long any more. */
  leaving(): void;
  /** Resolves when the shell has been told, or none came in time. Never rejects. */
  stuck(why: Stuck): Promise<void>;
  /** The first run is over, and the service is to begin. */
  written(): void;
  /** A code came a second time, and nobody is signed in any more. */
  withdrawn(): void;
  /** Asks for a window that is signed in, at most once in a while. */
  showWindow(): WindowAsked;
}

export type CoreLinkTimes = {
  /** How long the end of a core waits for a shell that is to know why. */
  readonly shellMs: number;
  /** Between two windows that pages ask for. */
  readonly windowMs: number;
};
const usual: CoreLinkTimes = { shellMs: 2_000, windowMs: 5_000 };

const closeMs = 1_000;
/** Questions that came before the pages were there; a shell asks one at a time. */
const questionsMax = 16;

/** Connects, and keeps connected until it is disposed; what it said last is out then. */
export function openCoreLink(
  { socket }: Pick<CoreOrders, 'socket'>,
  role: CoreRole,
  steady: () => SteadyTime = steadyNow,
  times: Partial<CoreLinkTimes> = {},
): CoreLink {
  return new ShellLink(socket, role, steady, { ...usual, ...times });
}

type Told = Extract<FromCore, { readonly kind: 'at_work' | 'leaving' | 'stuck' | 'written' }>;

class ShellLink implements CoreLink {
  readonly #role: CoreRole;
  readonly #steady: () => SteadyTime;
  readonly #times: CoreLinkTimes;
  readonly #link: Link<FromCore>;
  /** The newest of each kind, for a shell that comes later. */
  readonly #told = new Map<Told['kind'], Told>();
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
      onMessage: (message) => this.#heed(message),
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
    this.#tell({ kind: 'at_work', origin, canWrite });
    const questions = this.#questions;
    this.#questions = [];
    for (const question of questions) this.#offer(question);
  }

  leaving(): void {
    this.#told.delete('at_work');
    this.#tell({ kind: 'leaving' });
  }

  async stuck(why: Stuck): Promise<void> {
    this.#tell({ kind: 'stuck', why });
    await endsWithin(this.#connected.promise, this.#times.shellMs);
  }

  written(): void {
    this.#tell({ kind: 'written' });
  }

  withdrawn(): void {
    // What the page was is known to who was signed in.
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

  /** A shell that does not read is not waited for. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endsWithin(this.#link.end(), closeMs);
    this.#link[Symbol.dispose]();
  }

  #begin(): readonly FromCore[] {
    const { role, config } = this.#role;
    this.#connected.resolve();
    return [{ kind: 'core', role, pid: process.pid, config }, ...this.#told.values()];
  }

  #tell(message: Told): void {
    this.#told.set(message.kind, message);
    this.#link.send(message);
  }

  #heed(message: ToCore): void {
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
        // A newer shell may say more.
        return void (message satisfies never);
    }
  }

  #offer(question: number): void {
    if (this.#told.has('at_work')) {
      this.#link.send({ kind: 'offered', question, url: this.#role.offer() });
    } else if (this.#questions.length < questionsMax) {
      this.#questions.push(question);
    }
  }

  #grant(question: number): void {
    this.#link.send({ kind: 'granted', question, token: this.#role.grant() });
  }
}
