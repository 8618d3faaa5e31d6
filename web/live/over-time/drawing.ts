/** Draws a series of values as the outline of bars, each one step wide. */

export const barsHigh = 24;
/** The least height of a bar, so that a value above 0 is visible. */
const leastHigh = 1.5;

/**
 * @param values null: the value is not known, and nothing is drawn
 * @param most the value with the full height
 * @returns an SVG path, in a box of one unit per value and `barsHigh` units high
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

/** Draws steps as boxes with the full height. */
export function bandsOf(steps: readonly boolean[]): string {
  return steps.map((isOn, at) => (isOn ? box(at, 0, steps.length) : '')).join('');
}

function box(at: number, top: number, steps: number): string {
  // Few bars have gaps; many bars would disappear in theirs.
  const wide = steps > 120 ? 1 : 0.8;
  return `M${at} ${barsHigh}V${round(top)}h${wide}V${barsHigh}z`;
}

const round = (value: number): number => Math.round(value * 100) / 100;
