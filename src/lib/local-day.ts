/** Days in the time zone of this machine. */
import { dayMs, minuteMs } from './durations.ts';

/** The last result: most callers ask for the same minute, and no day begins within a minute. */
let latest = { minute: Number.NaN, day: '' };

/** `YYYY-MM-DD`. @param at milliseconds since 1970 */
export function localDay(at: number): string {
  const minute = Math.floor(at / minuteMs);
  if (minute === latest.minute) return latest.day;
  const date = new Date(at);
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  latest = { minute, day };
  return day;
}

/** The day this many days earlier, however long these days were. */
export function localDayBefore(at: number, days: number): string {
  const date = new Date(at);
  return localDay(new Date(date.getFullYear(), date.getMonth(), date.getDate() - days).getTime());
}

/** The number of days between two results of `localDay`: 0 if they are the same. */
export function daysBetween(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / dayMs);
}

/** The beginning of the next day: 00:00, or later if the clocks skip that time. */
export function nextMidnight(at: number): number {
  const date = new Date(at);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime();
}

/** `HH:MM` */
export function localTime(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
