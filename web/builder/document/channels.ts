/** The channels and routes of a document, which may have problems, by their registered names. */
import { findKind } from '../../../src/channels/registry.ts';
import { canonical, describeConditions } from '../../../src/config/changes/entries.ts';
import type { Edit } from '../../../src/config/edit/edit-text.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import type { RouteCondition } from '../../../src/domain/routing.ts';
import { isList, valueAt, wordOf } from './value.ts';

export type ListedChannel = {
  readonly path: Path;
  /** Empty: neither a name nor a type is written. */
  readonly name: string;
  readonly type: string;
};

export function listedChannels(document: JsonObject): readonly ListedChannel[] {
  return listAt(document, 'channels').map((entry, index) => ({
    path: ['channels', index],
    name: registeredNameIn(entry),
    type: typeIn(entry),
  }));
}

function typeIn(channel: Json | undefined): string {
  const type = valueAt(channel, ['type']);
  return typeof type === 'string' ? canonical(type) : '';
}

/** The registered name of a channel of the file; empty if it has neither name nor type. */
export function registeredNameIn(channel: Json | undefined): string {
  const name = valueAt(channel, ['name']);
  return typeof name === 'string' && name !== '' ? canonical(name) : typeIn(channel);
}

/** The platform; of a channel with a name of its own `support`, and the platform in brackets. */
export function channelTitle(channel: Json | undefined): string {
  return titleOf(registeredNameIn(channel), typeIn(channel));
}

/** The title of the channel with this registered name; of an unknown one, the name. */
export function titleOfName(document: JsonObject, name: string): string {
  if (name === '') return 'a channel';
  const channel = listedChannels(document).find((one) => one.name === name);
  return titleOf(name, channel?.type ?? name);
}

function titleOf(name: string, type: string): string {
  const platform = findKind(type)?.name ?? type;
  if (name === '') return 'a channel';
  if (name === type) return platform;
  return platform === '' ? name : `${name} (${platform})`;
}

export type ListedRoute = {
  readonly path: Path;
  readonly index: number;
  /** As svc counts the routes of the file: from 1. */
  readonly number: number;
  /** The registered name of its channel; empty: none is written. */
  readonly channel: string;
  readonly brain: string;
  /** null: it takes every message that no route before it takes. */
  readonly when: RouteCondition | null;
};

export function listedRoutes(document: JsonObject): readonly ListedRoute[] {
  return listAt(document, 'routes').map((entry, index) => {
    const brain = valueAt(entry, ['brain']);
    return {
      path: ['routes', index],
      index,
      number: index + 1,
      channel: routedNameIn(entry),
      brain: typeof brain === 'string' ? brain : '',
      when: conditionIn(entry),
    };
  });
}

/** The registered name of the channel that a route of the file names; empty if it names none. */
export function routedNameIn(route: Json | undefined): string {
  const channel = valueAt(route, ['channel']);
  return typeof channel === 'string' ? canonical(channel) : '';
}

const conditionKeys = ['senders', 'chats', 'topics', 'commands'] as const;

/**
 * The conditions of a route of the file; null: it has none, and takes every message. An entry that
 * is no id and no command is left out.
 */
export function conditionIn(route: Json | undefined): RouteCondition | null {
  const [senders = null, chats = null, topics = null, commands = null] = conditionKeys.map(
    (key) => {
      const entries = valueAt(route, ['when', key]);
      if (!isList(entries)) return null;
      const known = entries.filter((one) => typeof one === 'string' || typeof one === 'number');
      return known.map(String).filter((one) => one !== '');
    },
  );
  const condition = { senders, chats, topics, commands };
  return Object.values(condition).every((one) => one === null) ? null : condition;
}

/** `chat -100123 or 7, command /code`; null: `every other message`. */
export function conditionWords(when: RouteCondition | null): string {
  return (when && describeConditions(when)) ?? 'every other message';
}

/** The routes of one channel, in the order in which svc tries them. */
export function routesOfChannel(document: JsonObject, name: string): readonly ListedRoute[] {
  return name === '' ? [] : listedRoutes(document).filter(({ channel }) => channel === name);
}

/** Which messages take the route: `chat -100123`; without conditions `every other message`. */
export function takenBy(route: ListedRoute, all: readonly ListedRoute[]): string {
  const alone = all.filter(({ channel }) => channel === route.channel).length <= 1;
  return route.when === null && alone ? 'every message' : conditionWords(route.when);
}

/** Before the route that takes every other message: a route behind it is never reached. */
export function placeForRoute(document: JsonObject, channel: string): number {
  const last = routesOfChannel(document, channel).find(({ when }) => when === null);
  return last?.index ?? listAt(document, 'routes').length;
}

/** The edits that make two entries of a list change places. */
export function swapEdits(list: Path, one: number, other: number): readonly Edit[] {
  const [low, high] = one < other ? [one, other] : [other, one];
  const first: Edit = { kind: 'move', list, from: high, to: low };
  return high === low + 1 ? [first] : [first, { kind: 'move', list, from: low + 1, to: high }];
}

/**
 * The edits by which routes, grants and approvers follow a channel to its new name.
 * @param before, after registered names
 */
export function renameEdits(document: JsonObject, before: string, after: string): readonly Edit[] {
  const edits: Edit[] = [];
  const follow = (path: Path, written: Json | undefined, next: string): void => {
    if (wordOf(written) !== next) edits.push({ kind: 'set', path, value: next });
  };
  for (const { path, channel } of listedRoutes(document)) {
    if (channel !== before) continue;
    follow([...path, 'channel'], valueAt(document, [...path, 'channel']), after);
  }
  for (const brain of listAt(document, 'brains').keys()) {
    const agent: Path = ['brains', brain, 'agent'];
    const grants = valueAt(document, [...agent, 'governance']);
    for (const grant of (isList(grants) ? grants : []).keys()) {
      const list = [...agent, 'governance', grant, 'channels'];
      for (const [at, one] of textsAt(document, list)) {
        if (canonical(one) === before) follow([...list, at], one, after);
      }
    }
    for (const [at, one] of textsAt(document, [...agent, 'approvers'])) {
      const [written = '', ...user] = one.split(':');
      if (canonical(written) !== before) continue;
      follow([...agent, 'approvers', at], one, [after, ...user].join(':'));
    }
  }
  return edits;
}

function textsAt(document: JsonObject, path: Path): readonly (readonly [number, string])[] {
  const list = valueAt(document, path);
  return (isList(list) ? list : []).flatMap((one, at) =>
    typeof one === 'string' ? [[at, one] as const] : [],
  );
}

function listAt(document: JsonObject, key: string): readonly Json[] {
  const list = document[key];
  return isList(list) ? list : [];
}
