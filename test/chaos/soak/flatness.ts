/**
 * Whether a figure is flat. Samples are taken at equal distances, in messages; the first quarter is
 * for warming up. Of the rest, neighbours are put together and the least of each group is kept (a
 * heap goes up and down like a saw, and what grows is its lower edge). Then two things must hold,
 * within what is allowed: the middle of the last quarter is not above the middle of the second, and
 * the slope (the median of all slopes between two groups, which a few odd samples do not move) does
 * not lead above it from the second quarter to the end.
 */
export type Allowed = {
  /** In the unit of the figure. */
  readonly growth: number;
  /** Of the figure in the second quarter; the larger of the two counts. */
  readonly share: number;
};

/** So many groups a quarter. */
const groupsOfQuarter = 5;
/** With fewer samples nothing can be said. */
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
