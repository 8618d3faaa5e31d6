/** Combines a template with the present configuration. */
import { keyedEntries } from '../../../src/config/changes/entries.ts';
import { isOfProcess } from '../../../src/config/changes/lifetime.ts';
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { schema } from '../../../src/config/schema.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList } from '../document/value.ts';
import { brainsOf, freeName } from '../document/starts.ts';

/** The keys that can change while the service runs. */
const replaced = new Set(
  Object.entries(schema.fields).flatMap(([key, field]) => (isOfProcess(field) ? [] : [key])),
);

/**
 * Replaces the configuration by the template. Settings of the process stay, since only a restart
 * changes them, and so do notes. A channel of a type that is already there keeps its address,
 * secret and reply target, since these are the person's. Storage is added if the template needs it
 * and there is none.
 */
export function beginWith(document: JsonObject, template: JsonObject): JsonObject {
  const kept = Object.entries(document).filter(([key]) => !replaced.has(key));
  const own = Object.entries(template)
    .filter(([key]) => replaced.has(key))
    .map(([key, value]) => [key, key === 'channels' ? keptIn(document, value) : value] as const);
  const storage = document['storage'] ?? template['storage'];
  const rest = Object.fromEntries(kept);
  return { ...Object.fromEntries(own), ...rest, ...(storage === undefined ? {} : { storage }) };
}

/** Adds the template's brain under a free name; null: the template has no brain. */
export function addBeside(document: JsonObject, template: JsonObject): JsonObject | null {
  const brains = listOf(document['brains']);
  if (brains.length === 0) return null;
  const added = listOf(template['brains']).map((brain) => {
    if (!isObject(brain) || typeof brain['name'] !== 'string') return brain;
    return { ...brain, name: freeName(brain['name'], brainsOf(document)) };
  });
  const needsStorage = added.some((brain) => isObject(brain) && isObject(brain['agent']));
  const storage = document['storage'] ?? (needsStorage ? template['storage'] : undefined);
  return {
    ...document,
    brains: [...brains, ...added],
    ...(storage === undefined ? {} : { storage }),
  };
}

/**
 * The channels of a template; a type that the document already has keeps the document's settings.
 */
function keptIn(document: JsonObject, channels: Json): Json {
  const there = new Map(
    keyedEntries(document['channels'], 'channels').map(({ key, value }) => [key, value] as const),
  );
  return keyedEntries(channels, 'channels').map(({ key, value }) => there.get(key) ?? value);
}

function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}
