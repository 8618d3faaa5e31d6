/**
 * Whether the web engine of a window still answers. It is a process of its own, whose end nobody is
 * told: the page stays on the screen, or goes white. So it is asked, and shown the page anew:
 *
 * answers → silent, three times → renewed;  gone → renewed at once;  renewed too often → hopeless
 */

/** `gone`: its process has ended. `silent`: no answer came in time. */
export type PingMonitor = 'alive' | 'silent' | 'gone';

export type Engine = {
  ask(): Promise<PingMonitor>;
  /** Loads the page that it showed, in a process of its own. */
  renew(was: 'silent' | 'gone'): void;
  hopeless(): void;
};

export type WatchTimes = { readonly everyMs: number; readonly forgetMs: number };

const silentMax = 3;
/** Within `forgetMs`. */
const renewalsMax = 3;

export class EngineWatch {
  readonly #engine: Engine;
  readonly #times: WatchTimes;
  readonly #timer: NodeJS.Timeout;
  #isLoaded = false;
  #isAsking = false;
  #silent = 0;
  #renewedAt: number[] = [];

  constructor(engine: Engine, times: WatchTimes = { everyMs: 5_000, forgetMs: 60_000 }) {
    this.#engine = engine;
    this.#times = times;
    this.#timer = setInterval(() => void this.#look(), times.everyMs);
  }

  /** A page is there: before the first, an engine does not answer. */
  loaded(): void {
    this.#isLoaded = true;
    this.#silent = 0;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (!this.#isLoaded || this.#isAsking) return;
    this.#isAsking = true;
    const pingMonitor = await this.#engine.ask();
    this.#isAsking = false;
    if (pingMonitor === 'alive') this.#silent = 0;
    else if (pingMonitor === 'gone' || ++this.#silent >= silentMax) this.#renew(pingMonitor);
  }

  #renew(was: 'silent' | 'gone'): void {
    const now = performance.now();
    this.#renewedAt = this.#renewedAt.filter((at) => now - at < this.#times.forgetMs);
    if (this.#renewedAt.length >= renewalsMax) {
      this[Symbol.dispose]();
      return this.#engine.hopeless();
    }
    this.#renewedAt.push(now);
    this.#isLoaded = false;
    this.#silent = 0;
    this.#engine.renew(was);
  }
}
