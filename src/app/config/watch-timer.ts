/**
 * When to look at what instances share: as soon as one of them tells, and every now and then, so
 * that nothing hangs on a word that was lost. One look that waits for its turn is enough for all.
 */
import type { Peers } from '../../cluster/peers.ts';

export type WatchTimerDeps = {
  readonly peers: Pick<Peers, 'on' | 'tell'>;
  readonly inTurn: (act: () => Promise<void>) => Promise<void>;
  readonly look: () => Promise<void>;
  /** Whether something is waited for. */
  readonly isWaiting: () => boolean;
};

/** Said on the board: look at the configuration. */
const kind = 'config';
/** How often it looks when nobody tells anything: without and with something to wait for. */
const lookMs = 3_000;
const waitingMs = 500;
/** The same of who waits in a turn. */
const pauseMs = 200;

export class WatchTimer {
  readonly #deps: WatchTimerDeps;
  readonly #unhear: () => void;
  #timer: NodeJS.Timeout | null = null;
  #waits = false;
  #closed = false;
  #wake: () => void = () => {};

  constructor(deps: WatchTimerDeps) {
    this.#deps = deps;
    this.#unhear = deps.peers.on(kind, () => this.#heard());
    this.#heard();
  }

  /** Has all instances look at once. */
  tell(): void {
    void this.#deps.peers.tell(kind, '');
  }

  /** Resolves a moment later, or when somebody has told. */
  pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, pauseMs);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  /** From then on nobody looks; who pauses goes on. */
  close(): void {
    this.#closed = true;
    this.#unhear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wake();
  }

  #heard(): void {
    this.#wake();
    if (this.#waits || this.#closed) return;
    this.#waits = true;
    const { inTurn, look } = this.#deps;
    void inTurn(async () => {
      this.#waits = false;
      if (!this.#closed) await look();
    }).finally(() => this.#schedule());
  }

  #schedule(): void {
    if (this.#closed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const ms = this.#deps.isWaiting() ? waitingMs : lookMs;
    this.#timer = setTimeout(() => this.#heard(), ms).unref();
  }
}
