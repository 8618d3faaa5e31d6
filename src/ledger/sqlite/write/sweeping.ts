/**
 * When the writer does what is nobody's message: it deletes what has been kept long enough, and
 * takes in what is to be found again. That is now and then, and then in short steps. A step holds
 * up the groups that arrive during it, so four times as long as it took belongs to them before the
 * next one. Steps come at last whatever arrives: even slow ones do more in a second than hundreds
 * of messages bring.
 */
import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';

/** The steps take a fifth of the writer's time at most. */
const pauseFactor = 4;

export type SweepingDeps = {
  /** @returns whether there may be more to do */
  readonly step: () => boolean;
  /** How long nothing is done once there is no more. */
  readonly everyMs: number;
  /** How long belongs to the groups between two steps at least; asked after each step. */
  readonly pauseMsMin?: () => number;
  readonly steady?: () => SteadyTime;
  /** Calls `act` once after so many milliseconds, unless what it returns is called before. */
  readonly after?: (ms: number, act: () => void) => () => void;
};

/** @returns ends it: no step is made any more */
export function beginSweeping({
  step,
  everyMs,
  pauseMsMin = () => 20,
  steady = steadyNow,
  after = afterArrivals,
}: SweepingDeps): () => void {
  let cancel = (): void => {};
  const go = (): void => {
    const begunAt = steady();
    const more = step();
    const tookMs = steady() - begunAt;
    const pauseMs = Math.max(pauseMsMin(), pauseFactor * tookMs);
    cancel = after(more ? pauseMs : everyMs, go);
  };
  cancel = after(0, go);
  return () => cancel();
}

/** What has arrived until then goes before. */
function afterArrivals(ms: number, act: () => void): () => void {
  let arrived: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    arrived = setImmediate(act);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(arrived);
  };
}
