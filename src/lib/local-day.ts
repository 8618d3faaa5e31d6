/**
 * @param at milliseconds since 1970
 * @param daysBefore that many days earlier, however long they were
 * @returns the day of this machine's zone, `YYYY-MM-DD`
 */
export function localDay(at: number, daysBefore = 0): string {
  const date = new Date(at);
  date.setDate(date.getDate() - daysBefore);
  const two = (number: number): string => String(number).padStart(2, '0');
  return [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
}

/** How many days lie between two of them, as `localDay` names them: 0 where they are the same. */
export function daysBetween(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / 86_400_000);
}
