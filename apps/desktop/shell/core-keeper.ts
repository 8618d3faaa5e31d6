/**
 * Keeps a core: begins it, finds the one of an earlier shell, begins it again when it ended, and
 * ends it in order. What is decided, the machine in life-cycle.ts decides; here are the process,
 * its connection, and the timers.
 */
import type { Clock } from '../../../src/lib/clock.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import { lives } from '../../../src/lib/is-process-alive.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { ApplicationState, FromCore, ToCore } from '../desktop.ts';
import type { Connection, Heard } from '../lines.ts';
import { CoreLink } from './core-link.ts';
import { watchCore, type CoreProcess } from './core-process.ts';
import { newCycle, step, type Cycle, type Happening, type Role } from './life-cycle.ts';
import type { CoreRecord } from './core-record.ts';

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
