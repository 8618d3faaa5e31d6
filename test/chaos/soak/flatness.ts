/**
 * Whether a figure is flat. Samples are taken at equal distances, in messages; the first quarter is
 * the warm-up. The rest is put into groups of neighbours, and the least of each group counts: a
 * heap goes up and down like a saw, and a leak raises its lower edge. Two things must hold, within
 * the allowed growth. The middle of the last quarter is not above the middle of the second. The
 * slope (the median of all slopes between two groups, so that a few odd samples do not count) does
 * not lead above it from the second quarter to the end.
 */
export type Allowed = {
  /** In the unit of the figure. */
  readonly growth: number;
  /** Of the figure in the second quarter; the larger of the two counts. */
  readonly share: number;
};

/** The number of groups in a quarter. */
const groupsOfQuarter = 5;
/** With fewer samples there is no result. */
export const samplesMin = 4 * groupsOfQuarter;

export type Growth = {
  readonly from: number;
  readonly to: number;
  readonly slopeGrowth: number;
  readonly flat: boolean;
};

export function growthOf(samples: readonly number[], allowed: Allowed): Growth {
  if (samples.length < samplesMin) throw new RangeError(`${samples.length} samples are too few`);
  const quarter = samples.length / 4;
  const groups = Array.from({ length: 3 * groupsOfQuarter }, (_, i) => {
    const at = (place: number): number => Math.floor(quarter + (place * quarter) / groupsOfQuarter);
    return Math.min(...samples.slice(at(i), at(i + 1)));
  });
  const from = median(groups.slice(0, groupsOfQuarter));
  const to = median(groups.slice(-groupsOfQuarter));
  const slopeGrowth = medianSlope(groups) * (groups.length - groupsOfQuarter);
  const most = Math.max(allowed.growth, allowed.share * from);
  return { from, to, slopeGrowth, flat: to - from <= most && slopeGrowth <= most };
}

function medianSlope(values: readonly number[]): number {
  const slopes: number[] = [];
  for (let i = 0; i < values.length; i++) {
    for (let j = i + 1; j < values.length; j++) slopes.push((values[j]! - values[i]!) / (j - i));
  }
  return median(slopes);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
