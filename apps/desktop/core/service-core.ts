/** The service as the core of an application: who signs in, where it logs, and what it tells. */
import type { WindowAsked } from '../../../src/admin/application.ts';
import { SignIn } from '../../../src/admin/http/sign-in.ts';
import type { ConfigProblem } from '../../../src/config/config.ts';
import { steadyNow } from '../../../src/lib/clock.ts';
import { createLog, type Log, type LogLevel } from '../../../src/lib/log.ts';
import { openLogFiles } from '../../../src/lib/log-files.ts';
import type { Around } from '../../../src/app/admin-server.ts';
import type { WindowPlace } from '../../../src/app/listening.ts';
import type { Ending } from '../../../src/app/run.ts';
import type { CoreOrders } from '../desktop.ts';
import { openCoreLink, type CoreLink } from './core-link.ts';
import { stuckByConfig, stuckByEnding, stuckBySecrets } from './stuck.ts';

/** The name of the service's log, in the folder that the shell names. */
const logName = 'svc';

export class ServiceCore implements AsyncDisposable {
  readonly #orders: CoreOrders;
  readonly #stopping = new AbortController();
  readonly #link: CoreLink;
  readonly #signIn: SignIn;
  #place: WindowPlace | null = null;
  #log: Log | null = null;
  /** Aborts when the process is to stop, by a signal or by the shell. */
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
      // The window may be out of sight for days, and its page ask nothing meanwhile.
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
   * The log of the service, in files.
   * @throws what the file system says, where nothing can be written there
   */
  openLog(level: LogLevel): Log {
    const stream = openLogFiles({ folder: this.#orders.logFolder, name: logName });
    return createLog({ stream, level, format: 'json' });
  }

  /** What happens here is told there from now on. */
  logTo(log: Log): void {
    this.#log = log;
  }

  /** For the run. */
  get around(): Around {
    const [link, signIn] = [this.#link, this.#signIn];
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

  // Each resolves when the shell has been told, or none came in time, and never rejects.

  stuckByConfig(problems: readonly ConfigProblem[]): Promise<void> {
    return this.#link.stuck(stuckByConfig(problems));
  }

  stuckBySecrets(...why: Parameters<typeof stuckBySecrets>): Promise<void> {
    return this.#link.stuck(stuckBySecrets(...why));
  }

  /** @returns false: a restart may help, or none is wanted, and nothing was told */
  async stuckByEnding(ending: Ending): Promise<boolean> {
    const why = stuckByEnding(ending);
    if (why !== null) await this.#link.stuck(why);
    return why !== null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link[Symbol.asyncDispose]();
  }
}
