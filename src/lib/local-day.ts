/** Days of the time zone of this machine. */

/** `YYYY-MM-DD`. @param at milliseconds since 1970 */
export function localDay(at: number): string {
  const date = new Date(at);
  return [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
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
