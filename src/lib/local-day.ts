/** Days of the time zone of this machine. */
import { dayMs, minuteMs } from './durations.ts';

/** The one that was asked for last: most ask for the same, and no day begins within a minute. */
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

/** The day so many days before, however long these were. */
export function localDayBefore(at: number, days: number): string {
  const date = new Date(at);
  return localDay(new Date(date.getFullYear(), date.getMonth(), date.getDate() - days).getTime());
}

/** How many days lie between two of them, as `localDay` names them: 0 where they are the same. */
export function daysBetween(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / dayMs);
}

/** When the next day begins: at 00:00, or later where clocks skip that. */
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
