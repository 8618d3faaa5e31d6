import { localDay } from '../../lib/local-day.ts';
import { plainLine } from '../../lib/plain-text.ts';

/** Columns for a terminal, two spaces apart. Cells are shown without what could drive one. */
export type Column = { readonly title: string; readonly side: 'left' | 'right' };

/** @returns lines, each with its line end; the titles come first */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(plainLine))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    columns
      .map(({ side }, at) => {
        const cell = row[at] ?? '';
        return side === 'left' ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!);
      })
      .join('  ')
      .trimEnd();
  return cells.map((row) => `${line(row)}\n`).join('');
}

export const left = (title: string): Column => ({ title, side: 'left' });
export const right = (title: string): Column => ({ title, side: 'right' });

/** A time as a person reads it, in the zone of this machine: `2026-11-21 18:05:04`. */
export function localTime(at: number): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${localDay(at)} ${time}`;
}

/** A length in the largest unit that tells enough: `12 ms`, `1.2 s`, `3 min`, `4 h`, `2 d`. */
export function length(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

/** A size as a person reads it: `812 KiB`, `1.4 GiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1_048_576) return `${Math.ceil(bytes / 1_024)} KiB`;
  if (bytes < 1_073_741_824) return `${(bytes / 1_048_576).toFixed(1)} MiB`;
  return `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}
