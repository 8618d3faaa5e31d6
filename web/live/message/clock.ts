/** Maps times to positions on a drawing with one time axis. */
import type { Row, RowPart } from '../../../src/domain/timeline.ts';

/**
 * `at` returns per cent of the drawing's width; `cuts` are the stretches that are drawn shorter.
 */
export type Clock = {
  readonly at: (ms: number) => number;
  readonly cuts: readonly Stretch[];
  readonly ticks: readonly number[];
};

export type Stretch = { readonly fromMs: number; readonly toMs: number };

/** A wait is drawn shorter only if it is this many times longer than all work together … */
const timesLonger = 8;
/** … and at least this long. */
const leastMs = 200;

/**
 * Waits of hours between tries would hide the milliseconds of work, so they are drawn as long as
 * all work together.
 * @param endMs time of the end, since the message was accepted
 */
export function clockOf(rows: readonly Row[], endMs: number): Clock {
  const work = unionOf(rows.filter(isWork).map(stretchOf));
  const workMs = work.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const cuts = between(work, endMs).filter(({ fromMs, toMs }) => {
    return workMs > 0 && toMs - fromMs > Math.max(leastMs, timesLonger * workMs);
  });
  const drawn = (ms: number): number => {
    let less = 0;
    for (const { fromMs, toMs } of cuts) {
      if (ms <= fromMs) break;
      const part = (Math.min(ms, toMs) - fromMs) / (toMs - fromMs);
      less += part * (toMs - fromMs - workMs);
    }
    return ms - less;
  };
  const whole = Math.max(1, drawn(endMs));
  const at = (ms: number): number => (Math.min(Math.max(drawn(ms), 0), whole) / whole) * 100;
  return { at, cuts, ticks: cuts.length > 0 ? [0, endMs] : quarters(endMs) };
}

const works: ReadonlySet<RowPart> = new Set(['file', 'model', 'tool', 'delivery']);
const isWork = ({ part, forMs }: Row): boolean => (forMs ?? 0) > 0 && works.has(part);

const stretchOf = ({ atMs, forMs }: Row): Stretch => ({ fromMs: atMs, toMs: atMs + (forMs ?? 0) });

function quarters(endMs: number): readonly number[] {
  return [0, 0.25, 0.5, 0.75, 1].map((part) => part * endMs);
}

function unionOf(stretches: readonly Stretch[]): readonly Stretch[] {
  const union: { fromMs: number; toMs: number }[] = [];
  for (const { fromMs, toMs } of stretches.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = union.at(-1);
    if (last !== undefined && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs);
    else union.push({ fromMs, toMs });
  }
  return union;
}

/** The gaps between ordered stretches, from 0 to the end. */
function between(stretches: readonly Stretch[], endMs: number): readonly Stretch[] {
  const open: Stretch[] = [];
  let fromMs = 0;
  for (const one of stretches) {
    if (one.fromMs > fromMs) open.push({ fromMs, toMs: one.fromMs });
    fromMs = one.toMs;
  }
  return endMs > fromMs ? [...open, { fromMs, toMs: endMs }] : open;
}
