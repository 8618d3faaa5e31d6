/** Clocks that stand still until a test moves them, and deadlines on such a clock. */
import { later, steadyNow, type Clock, type SteadyTime } from '../../src/lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../src/lib/deadlines.ts';

export type HandClock = Clock & {
  readonly deadlines: Deadlines;
  /** The steady time so many milliseconds from now. */
  in(ms: number): SteadyTime;
  /** Moves the time on. Deadlines that come due act soon after. */
  pass(ms: number): void;
  /** Sets the time of day forward, or back by a negative number, without moving the steady time. */
  set(ms: number): void;
};

/** @param startAt the first time of day, in milliseconds since 1970 */
export function handClock(startAt = Date.now()): HandClock {
  let time = startAt;
  // Far from any time of day, so that code that confuses the two waits for ever.
  let passed = 1_000;
  const steady = (): SteadyTime => passed as SteadyTime;
  const deadlines = createDeadlines(steady);
  return {
    now: () => time,
    steady,
    deadlines,
    in: (ms) => later(steady(), ms),
    pass(ms) {
      time += ms;
      passed += ms;
      // The timer uses the machine's clock, so a time long past wakes it.
      deadlines.at(0 as SteadyTime, () => {});
    },
    set: (ms) => void (time += ms),
  };
}

/** Divides the delays of deadlines by `times`. */
export function hastened(deadlines: Deadlines, times: number): Deadlines {
  return {
    at: (at, act) => deadlines.at(at, act),
    after: (ms, act) => deadlines.after(ms / times, act),
    get size() {
      return deadlines.size;
    },
  };
}

/** So many milliseconds from now, by the machine's own clock. */
export const fromNow = (ms: number): SteadyTime => later(steadyNow(), ms);

/** Both clocks of a test that has the runner mock `Date`. */
export const mockedClock = {
  now: () => Date.now(),
  steady: () => Date.now() as SteadyTime,
  in: (ms: number) => later(Date.now() as SteadyTime, ms),
} as const satisfies Clock & Pick<HandClock, 'in'>;
