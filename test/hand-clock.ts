/** A clock that stands still until a test moves it, and the deadlines that go by it. */
import { createDeadlines, type Deadlines } from '../src/lib/deadlines.ts';

export type HandClock = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly deadlines: Deadlines;
  /** What is due by then acts soon after: its timer goes by the machine's clock. */
  pass(ms: number): void;
};

export function handClock(): HandClock {
  let time = Date.now();
  const now = (): number => time;
  return { now, deadlines: createDeadlines(now), pass: (ms) => void (time += ms) };
}
