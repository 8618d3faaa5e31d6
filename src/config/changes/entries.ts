/** Gives each entry of a configuration's lists a key that does not depend on its place. */
import type { Json } from '../locate.ts';
import { providerSynonyms } from '../schema.ts';
import { channelSynonyms } from '../../channels/registry.ts';
import { conditionWords, type RouteCondition } from '../../domain/routing.ts';
import { isObject } from '../../lib/json.ts';
import { isList } from '../json-value.ts';

export type Value = Json | undefined;

/** Whether the service reads a value as absent: it is undefined, null, or an empty text. */
export function isAbsent(value: Value): boolean {
  return value === undefined || value === null || value === '';
}

const synonyms: Readonly<Record<string, string>> = { ...channelSynonyms, ...providerSynonyms };

/** The contract's name for a channel or provider. @param name this name, or a synonym */
export function canonical(name: string): string {
  return Object.hasOwn(synonyms, name) ? synonyms[name]! : name;
}

/**
 * The registered name of a channel of a file: its `name`, else its type; empty if it has neither.
 * @param channel the entry as it is in the file
 */
export function registeredNameIn(channel: Value): string {
  const name = memberOf(channel, 'name');
  return canonical(name === '' ? memberOf(channel, 'type') : name);
}

/** The registered name of the channel that a route of a file names; empty if it names none. */
export function routedNameIn(route: Value): string {
  return canonical(memberOf(route, 'channel'));
}

/**
 * The conditions of a route of a file, with or without problems; null: it takes every message. An
 * entry that is no id and no command is left out.
 */
export function conditionIn(route: Value): RouteCondition | null {
  const when = isObject(route) ? route['when'] : undefined;
  if (!isObject(when)) return null;
  const [senders = null, chats = null, topics = null, commands = null] = conditionKeys.map(
    (key) => {
      const entries = when[key];
      if (!isList(entries)) return null;
      return entries.flatMap((one) =>
        typeof one === 'string' || typeof one === 'number' ? [String(one)] : [],
      );
    },
  );
  return { senders, chats, topics, commands };
}

const conditionKeys = ['senders', 'chats', 'topics', 'commands'] as const;

function memberOf(entry: Value, key: string): string {
  const value = isObject(entry) ? entry[key] : undefined;
  return typeof value === 'string' ? value : '';
}

export type KeyedEntry = { readonly key: string; readonly index: number; readonly value: Json };

/**
 * The entries of a list, each with a key that stays the same when it moves: the registered name of a
 * channel, the name of a brain, provider and id of a model, channel and conditions of a route. A
 * second entry with a key gets another key.
 * @param name the list's own key, such as `brains`
 */
export function keyedEntries(list: Value, name: string): readonly KeyedEntry[] {
  const seen = new Map<string, number>();
  return (isList(list) ? list : []).map((value, index) => {
    const key = identityOf(value, name);
    const count = seen.get(key) ?? 0;
    seen.set(key, count + 1);
    return { key: count === 0 ? key : `${key} (${count + 1})`, index, value };
  });
}

function identityOf(entry: Json, name: string): string {
  if (!isObject(entry)) return textOf(entry);
  switch (name) {
    case 'channels':
      return registeredNameIn(entry) || '?';
    case 'brains':
      return textOf(entry['name']);
    case 'routes': {
      const when = conditionIn(entry);
      const channel = routedNameIn(entry) || '?';
      return when === null ? channel : `${channel}, ${conditionWords(when)}`;
    }
    case 'models':
      return `${canonical(textOf(entry['provider']))}/${textOf(entry['model_id'])}`;
    case 'governance': {
      const on = isList(entry['channels']) ? ` on ${entry['channels'].map(textOf).join(', ')}` : '';
      return `${textOf(entry['tool'])}${on}`;
    }
    default:
      return JSON.stringify(entry);
  }
}

function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '?' : JSON.stringify(value);
}
