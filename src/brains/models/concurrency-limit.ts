/**
 * Bounds the calls in flight to one model, over every plan that asks it. The rest wait in order.
 * When the model shows strain (it says that it is busy, or does not answer in time) the bound is
 * halved, once for all the calls that were already under way, and with every answer it grows by
 * one, up to the limit.
 */
import type { SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { Stop } from '../../lib/stop.ts';

/** One call's right to be in flight; it is given back by `leave`. */
export type Permit = { readonly kind: 'pass'; readonly era: number };
export type NoPermit = { readonly kind: 'cancelled' | 'deadline' };

/** Calls of all the models that share it. */
export type Load = { inFlight: number; waiting: number };

export class ConcurrencyLimit {
  readonly #load: Load;
  #most: number;
  readonly #deadlines: Deadlines;
  #bound: number;
  #inFlight = 0;
  /** Counts the halvings: a call that began in an earlier era halves nothing again. */
  #era = 0;
  readonly #waiting = new Set<(turn: Permit | NoPermit) => void>();

  constructor(most: number, deadlines: Deadlines, load: Load) {
    this.#load = load;
    this.#most = most;
    this.#bound = most;
    this.#deadlines = deadlines;
  }

  get size(): { readonly inFlight: number; readonly waiting: number; readonly bound: number } {
    return { inFlight: this.#inFlight, waiting: this.#waiting.size, bound: this.#bound };
  }

  /** @param deadlineAt how long the call may wait for its turn */
  acquire(deadlineAt: SteadyTime, stop: Stop): Permit | Promise<Permit | NoPermit> {
    // Waiting calls are let in as soon as there is room, so nobody is overtaken here.
    if (this.#inFlight < this.#bound) return this.#pass();
    return this.#wait(deadlineAt, stop);
  }

  /** From now on at most so many calls. Calls in flight beyond that go on to their end. */
  limitTo(most: number): void {
    const isStrained = this.#bound < this.#most;
    this.#bound = isStrained ? Math.min(this.#bound, most) : most;
    this.#most = most;
    this.#admit();
  }

  /** @param strain the model was busy or too slow; `answered` it gave an answer */
  release(permit: Permit, how: 'answered' | 'strain' | 'other'): void {
    this.#inFlight--;
    this.#load.inFlight--;
    if (how === 'answered') this.#bound = Math.min(this.#most, this.#bound + 1);
    if (how === 'strain' && permit.era === this.#era) {
      this.#era++;
      this.#bound = Math.max(1, Math.floor(this.#bound / 2));
    }
    this.#admit();
  }

  #admit(): void {
    for (const enter of this.#waiting) {
      if (this.#inFlight >= this.#bound) break;
      enter(this.#pass());
    }
  }

  #pass(): Permit {
    this.#inFlight++;
    this.#load.inFlight++;
    return { kind: 'pass', era: this.#era };
  }

  #wait(deadlineAt: SteadyTime, stop: Stop): Promise<Permit | NoPermit> {
    if (stop.stopped) return Promise.resolve({ kind: 'cancelled' });
    return new Promise((resolve) => {
      const end = (turn: Permit | NoPermit): void => {
        this.#waiting.delete(end);
        this.#load.waiting--;
        deadline.cancel();
        stop.unlisten(cancel);
        resolve(turn);
      };
      const cancel = (): void => end({ kind: 'cancelled' });
      const deadline = this.#deadlines.at(deadlineAt, () => end({ kind: 'deadline' }));
      stop.listen(cancel);
      this.#waiting.add(end);
      this.#load.waiting++;
    });
  }
}
