/** A row of values as the outline of bars, one step wide each. */

export const barsHigh = 24;
/** A value that is not 0 can be seen. */
const leastHigh = 1.5;

/**
 * @param values null: nothing is known of that step, and nothing is drawn
 * @param most the value that is as high as the drawing
 * @returns an SVG path, in a box of one unit for each value and `barsHigh` units high
 */
export function barsOf(values: readonly (number | null)[], most: number): string {
  return values
    .map((value, at) => {
      if (value === null || value <= 0) return '';
      const high = Math.max(leastHigh, (value / most) * barsHigh);
      return box(at, barsHigh - high, values.length);
    })
    .join('');
}

/** Steps as boxes over the whole height. */
export function bandsOf(steps: readonly boolean[]): string {
  return steps.map((isOn, at) => (isOn ? box(at, 0, steps.length) : '')).join('');
}

function box(at: number, top: number, steps: number): string {
  // Between few bars there is a gap; many would be lost in theirs.
  const wide = steps > 120 ? 1 : 0.8;
  return `M${at} ${barsHigh}V${round(top)}h${wide}V${barsHigh}z`;
}

const round = (value: number): number => Math.round(value * 100) / 100;
