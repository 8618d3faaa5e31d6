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

type Pair = { readonly from: KeyedEntry; readonly to: KeyedEntry };

/** @param before, after the lists of routes */
export function routeChanges(before: Value, after: Value): readonly RouteChange[] {
  const [from, to] = [keyedEntries(before, 'routes'), keyedEntries(after, 'routes')];
  const pairs = to.flatMap((one): Pair[] => {
    const same = from.find(({ key }) => key === one.key);
    return same === undefined ? [] : [{ from: same, to: one }];
  });
  const removed = from.filter((one) => !pairs.some((pair) => pair.from === one));
  const added = to.filter((one) => !pairs.some((pair) => pair.to === one));
  const changed = added.flatMap((one): Pair[] => {
    const old = removed.find((other) => isSameButConditions(other, one));
    if (old === undefined) return [];
    removed.splice(removed.indexOf(old), 1);
    return [{ from: old, to: one }];
  });
  const isNew = (one: KeyedEntry): boolean => !changed.some((pair) => pair.to === one);
  return [
    ...to.flatMap((one) => {
      const pair = pairs.find((other) => other.to === one);
      if (pair !== undefined) return changesIn(pair);
      const moved = changed.find((other) => other.to === one);
      return moved === undefined ? [] : [conditionChange(moved), ...changesIn(moved)];
    }),
    ...added.filter(isNew).map((one): RouteChange => {
      const text = `${subjectOf(one)} is answered by brain ${brainOf(one)}${extentOf(one)}`;
      return { kind: 'added', text };
    }),
    ...removed.map((one): RouteChange => {
      const brain = brainOf(one) + extentOf(one);
      const text = `${subjectOf(one)} is not answered by brain ${brain} any more`;
      return { kind: 'removed', text };
    }),
    ...orderChanges([...pairs, ...changed], to),
  ];
}

function isSameButConditions(one: KeyedEntry, other: KeyedEntry): boolean {
  const isOne = conditionsOf(one) !== null && conditionsOf(other) !== null;
  return isOne && channelOf(one) === channelOf(other) && brainOf(one) === brainOf(other);
}

function conditionChange({ from, to }: Pair): RouteChange {
  const [old, now] = [conditionsOf(from), conditionsOf(to)];
  const brain = brainOf(to);
  const text = `${subjectOf(to)} is answered by brain ${brain} for ${now} in the place of ${old}`;
  return { kind: 'changed', text };
}

/** Changes of two routes with one channel and the same conditions. */
function changesIn({ from, to }: Pair): readonly RouteChange[] {
  const [old, now] = [brainOf(from), brainOf(to)];
  const target: RouteChange[] =
    old === now
      ? []
      : [
          {
            kind: 'changed',
            text:
              `${subjectOf(to)} is answered by brain ${now} in the place of ${old}` + extentOf(to),
          },
        ];
  const field = schema.fields.routes.items;
  const [before, after] = [objectOf(from), objectOf(to)];
  const others = fieldChanges(field, before, after, ['brain', 'when']);
  const isRewritten =
    from.key === to.key && !isEqual(before['when'] ?? null, after['when'] ?? null);
  const written = isRewritten ? ['when is written otherwise'] : [];
  return [
    ...target,
    ...others.map(({ text, effect }): RouteChange => {
      return { kind: effect ? 'changed' : 'note', text: `route of ${to.key}: ${text}` };
    }),
    ...written.map((text): RouteChange => ({ kind: 'note', text: `route of ${to.key}: ${text}` })),
  ];
}

/** Only the order among the routes of one channel has a meaning. */
function orderChanges(pairs: readonly Pair[], to: readonly KeyedEntry[]): readonly RouteChange[] {
  const ofChannels = Map.groupBy(
    pairs.toSorted((a, b) => a.to.index - b.to.index),
    (pair) => channelOf(pair.to),
  );
  return [...ofChannels].flatMap(([channel, own]): RouteChange[] => {
    const isMoved = own.some(({ from }, at) => at > 0 && from.index < own[at - 1]!.from.index);
    if (!isMoved) return [];
    const order = to
      .filter((one) => channelOf(one) === channel)
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
