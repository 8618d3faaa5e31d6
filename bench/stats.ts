/** Percentiles, medians, and a table for people. */

/** The nearest-rank percentile; NaN without values. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(0, rank - 1)]!;
}

/** The middle value, or the mean of the two middle ones; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

/** So many significant digits, with separated thousands: 12,300 or 3.21; `–` for NaN. */
export function figure(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return '–';
  const rounded = Number(value.toPrecision(significant));
  return rounded.toLocaleString('en-US', { maximumSignificantDigits: significant });
}

/** Makes columns as wide as their widest cell; the first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width));
  return [rows[0]!, rule, ...rows.slice(1)].map(line).join('\n');
}

export type Goal = { readonly atLeast: number } | { readonly atMost: number };

/** Says whether a figure reaches its goal, and by how much it misses it. */
export function verdict(value: number, goal: Goal): string {
  if (!Number.isFinite(value)) return 'not measured';
  const [wanted, short] =
    'atLeast' in goal ? [goal.atLeast, goal.atLeast - value] : [goal.atMost, value - goal.atMost];
  if (short <= 0) return 'reached';
  return `missed by ${figure(short)} (${figure((100 * short) / wanted, 2)} %)`;
}
