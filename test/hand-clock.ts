/** Clocks that stand still until a test moves them, and the deadlines that go by one of them. */
import type { Clock, SteadyTime } from '../src/lib/clock.ts';
import { createDeadlines, type Deadlines } from '../src/lib/deadlines.ts';

export type HandClock = Clock & {
  readonly deadlines: Deadlines;
  /** Time goes by. What is due by then acts soon after: its timer goes by the machine's clock. */
  pass(ms: number): void;
  /** The time of day is set forward, or back by a negative number, and no time goes by. */
  set(ms: number): void;
};

/** @param startAt the time of day that it begins with, in milliseconds since 1970 */
export function handClock(startAt = Date.now()): HandClock {
  let time = startAt;
  // Far from any time of day, so that who takes one for the other waits for ever.
  let passed = 1_000;
  const steady = (): SteadyTime => passed as SteadyTime;
  return {
    now: () => time,
    steady,
    deadlines: createDeadlines(steady),
    pass(ms) {
      time += ms;
      passed += ms;
    },
    set: (ms) => void (time += ms),
  };
}
