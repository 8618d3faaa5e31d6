/**
 * A three-way merge of configurations, which matches entries by their names and not by index.
 * Changes of different fields are merged; where both sides changed one field, a person chooses.
 */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, isList, valueAt } from '../document/value.ts';
import { keyedEntries, type Value } from '../../../src/config/changes/entries.ts';

export type Side = 'mine' | 'theirs';

/** Both sides changed this place to different values; undefined: the place is empty. */
export type Conflict = {
  /** `brains → triage → policy → kind`. */
  readonly path: string;
  readonly base: Value;
  readonly mine: Value;
  readonly theirs: Value;
};

export type Merged = {
  readonly document: Value;
  /** Every conflict, decided or not: theirs counts until somebody chooses. */
  readonly conflicts: readonly Conflict[];
};

/** @param picks the choices, by the path of a conflict */
export function mergeThree(
  base: Value,
  mine: Value,
  theirs: Value,
  picks: ReadonlyMap<string, Side> = new Map(),
): Merged {
  const conflicts: Conflict[] = [];
  const document = merge({ base, mine, theirs }, [], (conflict) => {
    conflicts.push(conflict);
    return picks.get(conflict.path) === 'mine' ? conflict.mine : conflict.theirs;
  });
  return { document, conflicts };
}

type Three = { readonly base: Value; readonly mine: Value; readonly theirs: Value };
type Settle = (conflict: Conflict) => Value;

function merge(three: Three, at: readonly string[], settle: Settle): Value {
  const { base, mine, theirs } = three;
  if (isEqual(base, theirs)) return mine;
  if (isEqual(base, mine) || isEqual(mine, theirs)) return theirs;
  if (isObject(mine) && isObject(theirs)) return mergeObjects(base, mine, theirs, at, settle);
  if (isOfEntries(mine) && isOfEntries(theirs)) return mergeLists(three, at, settle);
  return settle({ path: at.join(' → '), base, mine, theirs });
}

function mergeObjects(
  base: Value,
  mine: JsonObject,
  theirs: JsonObject,
  at: readonly string[],
  settle: Settle,
): JsonObject {
  const keys = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  // Without a prototype: a note may have any name.
  const merged = Object.create(null) as Record<string, Json>;
  for (const key of keys) {
    const [from, ours, others] = [base, mine, theirs].map((side) => valueAt(side, [key]));
    const three = { base: from, mine: ours, theirs: others };
    const value = merge(three, [...at, key], settle);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

/**
 * Channels, brains, models, routes and grants: the order is theirs, unless only mine moved entries.
 * A brain that one side renamed counts as the same brain.
 */
function mergeLists({ base, mine, theirs }: Three, at: readonly string[], settle: Settle): Json {
  const name = at.at(-1) ?? '';
  const old = entriesOf(base, name);
  const [ours, others] = [mine, theirs].map((list) => {
    const entries = entriesOf(list, name);
    const renamed = name === 'brains' ? renamesOf(old, entries) : new Map<string, string>();
    return new Map([...entries].map(([key, value]) => [renamed.get(key) ?? key, value]));
  }) as [Map<string, Json>, Map<string, Json>];
  const isTheirOrder = !isEqual(orderOf(old, others), orderOf(others, old));
  const [first, then] = isTheirOrder ? [others, ours] : [ours, others];
  const merged: Json[] = [];
  for (const key of mergeOrders([...first.keys()], [...then.keys()])) {
    const three = { base: old.get(key), mine: ours.get(key), theirs: others.get(key) };
    const value = merge(three, [...at, key], settle);
    if (value !== undefined) merged.push(value);
  }
  return merged;
}

function entriesOf(list: Value, name: string): Map<string, Json> {
  return new Map(keyedEntries(list, name).map(({ key, value }) => [key, value]));
}

/** The keys that both lists have, in the order of `one`. */
function orderOf(one: ReadonlyMap<string, Json>, other: ReadonlyMap<string, Json>): Json {
  return [...one.keys()].filter((key) => other.has(key));
}

function isOfEntries(value: Value): boolean {
  return isList(value) && value.every((entry) => isObject(entry));
}

// Matching: which entries of two versions of a list are the same entry, and in which order they
// come.

/** All keys of both, in the order of the first; each missing key follows its predecessor. */
function mergeOrders(first: readonly string[], then: readonly string[]): readonly string[] {
  const merged = [...first];
  for (const [index, key] of then.entries()) {
    if (merged.includes(key)) continue;
    merged.splice(index === 0 ? 0 : placeBehind(then[index - 1]!, merged, then), 0, key);
  }
  return merged;
}

/** Keys that only the first version has at that place come before the new key. */
function placeBehind(key: string, merged: readonly string[], then: readonly string[]): number {
  const place = merged.indexOf(key) + 1;
  const next = merged.findIndex((other, at) => at >= place && then.includes(other));
  return next < 0 ? merged.length : next;
}

/**
 * Matches entries that have new names and are mostly the same otherwise.
 * @param from, to entries by name
 * @returns new names to old ones
 */
function renamesOf(
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

/** The share of two entries that is equal, without their names: 0 to 1. */
function shareOf(a: Json | undefined, b: Json | undefined): number {
  if (!isObject(a) || !isObject(b)) return 0;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  keys.delete('name');
  const same = [...keys].filter((key) => key in a && key in b && isEqual(a[key], b[key]));
  return keys.size === 0 ? 0 : same.length / keys.size;
}
