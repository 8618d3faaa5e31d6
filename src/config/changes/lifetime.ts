/** Finds the changes that need a restart, by the `lifetime` of each field in the schema. */
import { parseListenAddress } from '../address.ts';
import type { Field, ObjectField } from '../field.ts';
import { isObject } from '../../lib/json.ts';
import { isEqual } from '../json-value.ts';
import { memberPath, type JsonObject } from '../locate.ts';
import { schema } from '../schema.ts';
import { canonical, isAbsent, keyedEntries, type Value } from './entries.ts';
import { effectiveValue } from './field-changes.ts';

/**
 * Finds changed fields that cannot change while svc runs. An added or removed block is one field.
 * @param before, after parsed documents, with or without problems
 * @returns paths in `after`, such as `storage.path`
 */
export function restartFields(before: Value, after: Value): readonly string[] {
  return [
    ...restartFieldsOfBlock(schema, before, after, ''),
    ...restartFieldsOfChannels(before, after),
  ];
}

/** Whether a field, or any field in it, has the lifetime `process`. */
export function isOfProcess(field: Field): boolean {
  if (field.lifetime === 'process') return true;
  return field.type === 'object' && Object.values(field.fields).some(isOfProcess);
}

/** Only a channel with a route before and after listens both times. */
function restartFieldsOfChannels(before: Value, after: Value): readonly string[] {
  const [from, to] = [routedChannels(before), routedChannels(after)];
  return [...to].flatMap(([name, { index, value }]) => {
    const old = from.get(name);
    return old === undefined
      ? []
      : restartFieldsOfBlock(channelField, old.value, value, `channels[${index}]`);
  });
}

const channelField = schema.fields.channels.items;

type ListedChannel = { readonly index: number; readonly value: JsonObject };

/** The channels that run because they have a route, by name, with their index in the list. */
export function routedChannels(document: Value): ReadonlyMap<string, ListedChannel> {
  if (!isObject(document)) return new Map();
  const routed = new Set(
    keyedEntries(document['routes'], 'routes').map(({ value }) => {
      const channel = isObject(value) ? value['channel'] : undefined;
      return typeof channel === 'string' ? canonical(channel) : '';
    }),
  );
  return new Map(
    keyedEntries(document['channels'], 'channels').flatMap(({ key, index, value }) => {
      return isObject(value) && routed.has(key) ? [[key, { index, value }] as const] : [];
    }),
  );
}

/** If a block is off in `after`, only a change of its `enabled` counts. */
function restartFieldsOfBlock(
  { fields }: ObjectField,
  before: Value,
  after: Value,
  path: string,
): readonly string[] {
  if (!isObject(before) || !isObject(after)) return [];
  const { enabled } = fields;
  const isOff = enabled !== undefined && effectiveValue(enabled, after['enabled']) === false;
  return Object.entries(fields).flatMap(([key, field]) => {
    if (isOff && key !== 'enabled') return [];
    return restartFieldsOfField(field, before[key], after[key], memberPath(path, key));
  });
}

function restartFieldsOfField(
  field: Field,
  before: Value,
  after: Value,
  path: string,
): readonly string[] {
  if (field.type !== 'object') return needsRestart(field, before, after) ? [path] : [];
  const [from, to] = [before, after].map((block) => {
    return isAbsent(block) && field.default === 'empty' ? {} : block;
  });
  if (isAbsent(from) === isAbsent(to)) return restartFieldsOfBlock(field, from, to, path);
  return field.lifetime === 'process' ? [path] : [];
}

function needsRestart(field: Field, before: Value, after: Value): boolean {
  const [from, to] = [effectiveValue(field, before), effectiveValue(field, after)];
  switch (field.lifetime) {
    case undefined:
      return false;
    case 'process':
      return !isSame(field, from, to);
    case 'port':
      return changesHostAlone(from, to);
    default:
      return field.lifetime satisfies never;
  }
}

function isSame(field: Field, from: Value, to: Value): boolean {
  if (isEqual(from, to)) return true;
  const isAddress = field.type === 'text' && field.format === 'address';
  const [old, now] = isAddress ? [addressOf(from), addressOf(to)] : [null, null];
  return old !== null && now !== null && old.host === now.host && old.port === now.port;
}

/** Whether only the host changes. The old listener still holds the port, so the new one fails. */
function changesHostAlone(from: Value, to: Value): boolean {
  const [old, now] = [addressOf(from), addressOf(to)];
  if (old === null || now === null || now.port === 0) return false;
  return now.port === old.port && now.host !== old.host;
}

function addressOf(text: Value): { readonly host: string; readonly port: number } | null {
  const address = typeof text === 'string' ? parseListenAddress(text, true) : null;
  return address && { host: address.host.toLowerCase(), port: address.port };
}
