/** Which entries of two versions of a list are the same entry, and in which order they come. */
import type { Json } from '../../../src/config/locate.ts';
import { isEqual, isObject } from '../document/value.ts';

/** All keys of both: the first one's order, with each missing key behind its predecessor. */
export function mergeOrders(first: readonly string[], then: readonly string[]): readonly string[] {
  const merged = [...first];
  for (const [index, key] of then.entries()) {
    if (merged.includes(key)) continue;
    merged.splice(index === 0 ? 0 : placeBehind(then[index - 1]!, merged, then), 0, key);
  }
  return merged;
}

/** Keys that only the first version has at that place stay before the new one. */
function placeBehind(key: string, merged: readonly string[], then: readonly string[]): number {
  const place = merged.indexOf(key) + 1;
  const next = merged.findIndex((other, at) => at >= place && then.includes(other));
  return next < 0 ? merged.length : next;
}

/**
 * Entries that have another name now and are the same otherwise, for the most part.
 * @param from, to by name
 * @returns new names to old ones
 */
export function renamesOf(
  from: ReadonlyMap<string, Json>,
  to: ReadonlyMap<string, Json>,
): ReadonlyMap<string, string> {
  const gone = [...from.keys()].filter((name) => !to.has(name));
  const come = [...to.keys()].filter((name) => !from.has(name));
  const alike = gone
    .flatMap((old) => come.map((now) => ({ old, now, share: shareOf(from.get(old), to.get(now)) })))
    .filter(({ share }) => share > 0.5)
    .sort((a, b) => b.share - a.share);
  const renames = new Map<string, string>();
  for (const { old, now } of alike) {
    if (!renames.has(now) && ![...renames.values()].includes(old)) renames.set(now, old);
  }
  return renames;
}

/** How much of two entries is the same, their names left out: 0 to 1. */
function shareOf(a: Json | undefined, b: Json | undefined): number {
  if (!isObject(a) || !isObject(b)) return 0;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  keys.delete('name');
  const same = [...keys].filter((key) => key in a && key in b && isEqual(a[key], b[key]));
  return keys.size === 0 ? 0 : same.length / keys.size;
}
