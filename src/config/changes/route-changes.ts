/** Describes the differences between two lists of routes: targets, conditions, order, menu. */
import { channelName } from '../../channels/registry.ts';
import { isObject } from '../../lib/json.ts';
import { isEqual } from '../json-value.ts';
import { schema } from '../schema.ts';
import {
  canonical,
  describeConditions,
  keyedEntries,
  type KeyedEntry,
  type Value,
} from './entries.ts';
import { fieldChanges } from './field-changes.ts';

type RouteChange = {
  readonly kind: 'added' | 'removed' | 'changed' | 'note';
  readonly text: string;
};

/** By each route of the new list: the route that it was before. */
type Pairs = ReadonlyMap<KeyedEntry, KeyedEntry>;

/** @param before, after the lists of routes */
export function routeChanges(before: Value, after: Value): readonly RouteChange[] {
  const [from, to] = [keyedEntries(before, 'routes'), keyedEntries(after, 'routes')];
  const old = new Map(from.map((one) => [one.key, one]));
  const pairs = new Map(to.flatMap((one) => (old.has(one.key) ? [[one, old.get(one.key)!]] : [])));
  const removed = new Set(from).difference(new Set(pairs.values()));
  for (const one of to) {
    if (pairs.has(one)) continue;
    const twin = [...removed].find((other) => isSameButConditions(other, one));
    if (twin !== undefined) pairs.set(one, twin);
    if (twin !== undefined) removed.delete(twin);
  }
  return [
    ...to.flatMap((one) => (pairs.has(one) ? changesIn(pairs.get(one)!, one) : [])),
    ...to.flatMap((one): RouteChange[] => {
      if (pairs.has(one)) return [];
      const text = `${subjectOf(one)} is answered by brain ${brainOf(one)}${extentOf(one)}`;
      return [{ kind: 'added', text }];
    }),
    ...Array.from(removed, (one): RouteChange => {
      const brain = brainOf(one) + extentOf(one);
      const text = `${subjectOf(one)} is not answered by brain ${brain} any more`;
      return { kind: 'removed', text };
    }),
    ...orderChanges(pairs, to),
  ];
}

function isSameButConditions(one: KeyedEntry, other: KeyedEntry): boolean {
  const isOne = conditionsOf(one) !== null && conditionsOf(other) !== null;
  return isOne && channelOf(one) === channelOf(other) && brainOf(one) === brainOf(other);
}

/** Changes of two routes with one channel, and the same conditions or the same brain. */
function changesIn(from: KeyedEntry, to: KeyedEntry): readonly RouteChange[] {
  const changes: RouteChange[] = [];
  const [old, now] = [brainOf(from), brainOf(to)];
  const [before, after] = [objectOf(from), objectOf(to)];
  if (from.key !== to.key) {
    const answered = `${subjectOf(to)} is answered by brain ${now}${extentOf(to)}`;
    const text = `${answered} in the place of ${conditionsOf(from)}`;
    changes.push({ kind: 'changed', text });
  } else if (old !== now) {
    const answered = `${subjectOf(to)} is answered by brain ${now} in the place of ${old}`;
    const text = answered + extentOf(to);
    changes.push({ kind: 'changed', text });
  }
  const field = schema.fields.routes.items;
  for (const { text, effect } of fieldChanges(field, before, after, ['brain', 'when'])) {
    changes.push({ kind: effect ? 'changed' : 'note', text: `route of ${to.key}: ${text}` });
  }
  if (from.key === to.key && !isEqual(before['when'] ?? null, after['when'] ?? null)) {
    changes.push({ kind: 'note', text: `route of ${to.key}: when is written otherwise` });
  }
  return changes;
}

/** Only the order among the routes of one channel has a meaning. */
function orderChanges(pairs: Pairs, to: readonly KeyedEntry[]): readonly RouteChange[] {
  return [...Map.groupBy(to, channelOf)].flatMap(([channel, own]): RouteChange[] => {
    const places = own.flatMap((one) => pairs.get(one)?.index ?? []);
    if (places.every((place, at) => at === 0 || place > places[at - 1]!)) return [];
    const order = own
      .map((one) => `${brainOf(one)} for ${conditionsOf(one) ?? 'every other message'}`)
      .join('; ');
    const text = `the channel ${channelName(channel)} tries its routes in this order: ${order}`;
    return [{ kind: 'changed', text }];
  });
}

const subjectOf = (route: KeyedEntry) => `the channel ${channelName(channelOf(route))}`;

/** The conditions of the route, ` for chat 7`; empty: it has none. */
function extentOf(route: KeyedEntry): string {
  const conditions = conditionsOf(route);
  return conditions === null ? '' : ` for ${conditions}`;
}

function conditionsOf(route: KeyedEntry): string | null {
  return describeConditions(objectOf(route)['when']);
}

function channelOf(route: KeyedEntry): string {
  const { channel } = objectOf(route);
  return typeof channel === 'string' ? canonical(channel) : '?';
}

function brainOf(route: KeyedEntry): string {
  const { brain } = objectOf(route);
  return typeof brain === 'string' && brain !== '' ? brain : '?';
}

function objectOf({ value }: KeyedEntry) {
  return isObject(value) ? value : {};
}
