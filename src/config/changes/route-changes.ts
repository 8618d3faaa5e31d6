/**
 * Describes the changes of routes. A route has no name: it is known by its channel and its
 * conditions, and its order among the routes of its channel counts.
 */
import { channelName } from '../../channels/registry.ts';
import { conditionWords } from '../../domain/routing.ts';
import { isObject } from '../../lib/json.ts';
import type { JsonObject } from '../locate.ts';
import { schema } from '../schema.ts';
import { conditionIn, keyedEntries, routedNameIn, type KeyedEntry, type Value } from './entries.ts';
import { fieldChanges } from './field-changes.ts';

export type RouteChange = {
  readonly kind: 'added' | 'removed' | 'changed' | 'note';
  readonly text: string;
};

/** @param before, after the lists of routes, with or without problems */
export function routeChanges(before: Value, after: Value): readonly RouteChange[] {
  const [from, to] = [routesBy(before), routesBy(after)];
  const channels = new Set([...to.keys(), ...from.keys()]);
  return [...channels].flatMap((channel) => {
    return changesOfChannel(channel, from.get(channel) ?? [], to.get(channel) ?? []);
  });
}

/** The routes of each channel, in their order. */
function routesBy(list: Value): ReadonlyMap<string, readonly KeyedEntry[]> {
  return Map.groupBy(keyedEntries(list, 'routes'), ({ value }) => routedNameIn(value) || '?');
}

function changesOfChannel(
  channel: string,
  before: readonly KeyedEntry[],
  after: readonly KeyedEntry[],
): readonly RouteChange[] {
  const known = new Map(before.map((one) => [one.key, one]));
  const gone = before.filter(({ key }) => !after.some((one) => one.key === key));
  const formerOf = new Map<KeyedEntry, KeyedEntry>();
  for (const one of after) {
    const same = known.get(one.key);
    // New conditions of a route that leads to the same brain are a change of that route.
    const twin = same ?? gone.find((old) => areAlike(old, one) && !isTaken(old, formerOf));
    if (twin !== undefined) formerOf.set(one, twin);
  }
  const name = `channel ${channelName(channel)}`;
  const changes = after.flatMap((to) => {
    const from = formerOf.get(to);
    if (from === undefined) {
      return [change('added', `${subjectOf(name, to)} is answered by brain ${brainOf(to)}`)];
    }
    return [...ofConditions(name, from, to), ...ofBrain(name, from, to), ...others(name, from, to)];
  });
  const removed = gone
    .filter((old) => !isTaken(old, formerOf))
    .map((old) =>
      change(
        'removed',
        `${subjectOf(name, old)} is not answered by brain ${brainOf(old)} any more`,
      ),
    );
  return [...changes, ...removed, ...ofOrder(name, after, formerOf)];
}

function isTaken(old: KeyedEntry, formerOf: ReadonlyMap<KeyedEntry, KeyedEntry>): boolean {
  return [...formerOf.values()].includes(old);
}

/** Both have conditions, and the same brain answers. */
function areAlike(old: KeyedEntry, now: KeyedEntry): boolean {
  const both = conditionIn(old.value) !== null && conditionIn(now.value) !== null;
  return both && brainOf(old) === brainOf(now);
}

/** `the channel support`, or `the channel support, chat -100123,`. */
function subjectOf(channel: string, route: KeyedEntry): string {
  const when = conditionIn(route.value);
  return when === null ? `the ${channel}` : `the ${channel}, ${conditionWords(when)},`;
}

function ofConditions(channel: string, from: KeyedEntry, to: KeyedEntry): readonly RouteChange[] {
  const [old, now] = [from, to].map(({ value }) => conditionWords(conditionIn(value)));
  if (old === now) return [];
  const text = `${channel}: the route to brain ${brainOf(from)} takes ${now} in the place of ${old}`;
  return [change('changed', text)];
}

function ofBrain(channel: string, from: KeyedEntry, to: KeyedEntry): readonly RouteChange[] {
  const [old, now] = [brainOf(from), brainOf(to)];
  if (old === now) return [];
  return [
    change(
      'changed',
      `${subjectOf(channel, to)} is answered by brain ${now} in the place of ${old}`,
    ),
  ];
}

/** The description, and how the route is written. */
function others(channel: string, from: KeyedEntry, to: KeyedEntry): readonly RouteChange[] {
  const [old, now] = [objectOf(from.value), objectOf(to.value)];
  const isSame = conditionWords(conditionIn(old)) === conditionWords(conditionIn(now));
  const skip = ['brain', ...(isSame ? [] : ['when'])];
  return fieldChanges(routeField, old, now, skip).map(({ at, text, effect }) => {
    const said = `${channel}, ${conditionWords(conditionIn(now))}: ${text}`;
    return change(effect && at[0] !== 'when' ? 'changed' : 'note', said);
  });
}

const routeField = schema.fields.routes.items;

/** Which of two routes takes a message that fits both depends on their order. */
function ofOrder(
  channel: string,
  after: readonly KeyedEntry[],
  formerOf: ReadonlyMap<KeyedEntry, KeyedEntry>,
): readonly RouteChange[] {
  const places = after.flatMap((one) => formerOf.get(one)?.index ?? []);
  if (places.every((place, at) => at === 0 || place > places[at - 1]!)) return [];
  const order = after.map(({ value }) => conditionWords(conditionIn(value)));
  return [change('changed', `${channel}: its routes are tried in the order ${order.join('; ')}`)];
}

function brainOf({ value }: KeyedEntry): string {
  const brain = objectOf(value)['brain'];
  return typeof brain === 'string' && brain !== '' ? brain : '?';
}

function objectOf(value: Value): JsonObject {
  return isObject(value) ? value : {};
}

function change(kind: RouteChange['kind'], text: string): RouteChange {
  return { kind, text };
}
