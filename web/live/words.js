// @ts-check
/** Numbers as people read them. */

/** @param {number} ms */
export function lengthOf(ms) {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

/** @param {number | null} ms */
export function timeOf(ms) {
  if (ms === null) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** @param {number} count */
export const countOf = (count) => count.toLocaleString('en');

/** @param {number} count
 * @param {string} what */
export const manyOf = (count, what) => `${countOf(count)} ${what}${count === 1 ? '' : 's'}`;
