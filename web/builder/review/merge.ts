/**
 * A three-way merge of configurations, by what the entries are and not by their places. Changes of
 * different fields go together; where both sides changed one field, a person is asked.
 */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { isEqual, isList, isObject, valueAt } from '../document/value.ts';
import { keyed, type Value } from '../../../src/config/changes/entries.ts';
import { mergeOrders, renamesOf } from './merge-orders.ts';

export type Side = 'mine' | 'theirs';

/** Both sides changed this place, each to something else; undefined: the place is empty. */
export type Conflict = {
  /** `brains → triage → policy → kind`. */
  readonly path: string;
  readonly base: Value;
  readonly mine: Value;
  readonly theirs: Value;
};

export type Merged = {
  readonly document: Value;
  /** Every conflict, decided or not: where nothing is picked, theirs holds. */
  readonly conflicts: readonly Conflict[];
};

/** @param picks by the path of a conflict */
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
 * Channels, brains, models, routes and grants: the order is theirs, unless only we moved entries. A
 * brain that one side renamed is the same brain.
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
  return new Map(keyed(list, name).map(({ key, value }) => [key, value]));
}

/** The keys of one list that the other has too, in the order of the one. */
function orderOf(one: ReadonlyMap<string, Json>, other: ReadonlyMap<string, Json>): Json {
  return [...one.keys()].filter((key) => other.has(key));
}

function isOfEntries(value: Value): boolean {
  return isList(value) && value.every((entry) => isObject(entry));
}
