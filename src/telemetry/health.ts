/** How something stands, by what ended and whether that went well. */
import {
  fiveMinutesMs,
  minuteMs,
  nextStanding,
  type Standing,
  type Window,
} from '../domain/health.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import { SlidingShare } from '../lib/sliding-share.ts';
import type { Shown } from './meters.ts';

export const nothing: Shown = { standing: 'unknown', since: 0, shownAt: 0 };

export class Watched {
  shown: Shown = nothing;
  readonly #clock: Clock;
  readonly #troubledFrom: number;
  readonly #counts = new SlidingShare();
  #run = 0;
  #runAt = 0;
  #changedAt = 0;

  /** @param troubledFrom the share of failures from which on it stands as in trouble */
  constructor(clock: Clock, troubledFrom: number) {
    this.#clock = clock;
    this.#troubledFrom = troubledFrom;
  }

  get window(): Window {
    return this.#windowAt(this.#clock.steady());
  }

  /** @returns whether it stands in another way from now on */
  ended(isGood: boolean, isSure: boolean): boolean {
    const time = this.#clock.steady();
    this.#counts.add(isGood, time);
    if (this.#run === 0 || this.#run > 0 !== isGood) {
      this.#run = 0;
      this.#runAt = time;
    }
    this.#run += isGood ? 1 : -1;
    // What goes well leaves what is up as it is: the rule need not look at the windows.
    if (isGood && this.shown.standing === 'up') return this.#become('up', time);
    const standing = nextStanding(this.shown.standing, {
      ...this.#windowAt(time),
      run: this.#run,
      runMs: time - this.#runAt,
      heldMs: time - this.#changedAt,
      isSure,
      troubledFrom: this.#troubledFrom,
    });
    return this.#become(standing, time);
  }

  /**
   * As something shows that is no call.
   * @param agoMs how long ago it began, where that was found out only now
   */
  found(standing: Standing, agoMs = 0): void {
    this.#become(standing, this.#clock.steady(), agoMs);
  }

  /** Nothing is known of it from now on. */
  forget(): void {
    this.#counts.clear();
    this.#run = 0;
    const now = this.#clock.now();
    this.shown = { standing: 'unknown', since: now, shownAt: now };
  }

  #windowAt(time: SteadyTime): Window {
    return {
      minute: this.#counts.of(minuteMs, time),
      fiveMinutes: this.#counts.of(fiveMinutesMs, time),
    };
  }

  #become(standing: Standing, time: SteadyTime, agoMs = 0): boolean {
    const shownAt = this.#clock.now();
    const began = shownAt - Math.round(agoMs);
    const isOther = standing !== this.shown.standing;
    if (isOther) this.#changedAt = time;
    this.shown = { standing, since: isOther ? began : this.shown.since, shownAt };
    return isOther;
  }
}
