/** Gives each entry of a configuration's lists a key that does not depend on its place. */
import type { Json } from '../locate.ts';
import { providerSynonyms } from '../schema.ts';
import { channelSynonyms } from '../../channels/registry.ts';
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

export type KeyedEntry = { readonly key: string; readonly index: number; readonly value: Json };

/**
 * The entries of a list, each with a key that stays the same when it moves: the registered name of
 * a channel, the name of a brain, provider and id of a model, a route's channel with its
 * conditions. A second entry with a key gets another key.
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
      return canonical(textOf(isAbsent(entry['name']) ? entry['type'] : entry['name']));
    case 'brains':
      return textOf(entry['name']);
    case 'routes':
      return routeKey(canonical(textOf(entry['channel'])), entry['when']);
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

function routeKey(channel: string, when: Value): string {
  const conditions = describeConditions(when);
  return conditions === null ? channel : `${channel} for ${conditions}`;
}

const conditionKeys = ['senders', 'chats', 'topics', 'commands'] as const;

/**
 * The conditions of a route in words: `chats -100123, commands /code or /review`. Entries that the
 * service reads alike have one text.
 * @returns null: the route has none
 */
export function describeConditions(when: Value): string | null {
  if (!isObject(when)) return null;
  const parts = conditionKeys.flatMap((key) => {
    const entries = when[key];
    if (isAbsent(entries)) return [];
    const texts = isList(entries) ? [...new Set(entries.map(textOf))].sort() : [textOf(entries)];
    if (texts.length === 0) return [`no ${key}`];
    const word = texts.length === 1 ? key.slice(0, -1) : key;
    return [`${word} ${texts.join(' or ')}`];
  });
  return parts.length === 0 ? null : parts.join(', ');
}

function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '?' : JSON.stringify(value);
}
