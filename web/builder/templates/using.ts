/** What a template makes of a configuration that is there. */
import { keyed } from '../../../src/config/changes/entries.ts';
import { isOfProcess } from '../../../src/config/changes/lifetime.ts';
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { schema } from '../../../src/config/schema.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList } from '../document/value.ts';
import { brainsOf, freeName } from '../document/starts.ts';

/** The parts that can change while the service runs. */
const replaced = new Set(
  Object.entries(schema.fields).flatMap(([key, field]) => (isOfProcess(field) ? [] : [key])),
);

/**
 * Puts the template in the place of the configuration. Settings of the process stay, since they
 * only change with a restart, and so do notes. A channel of a kind that is there already stays as
 * it is: its address, its secret and where it replies are the person's. Storage is added where it
 * is needed and there is none.
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

/** Adds the template's brain to the others, under a free name; null: the template has no brain. */
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

/** The channels of a template, each as the document has it where it has one of that kind. */
function keptIn(document: JsonObject, channels: Json): Json {
  const there = new Map(
    keyed(document['channels'], 'channels').map(({ key, value }) => [key, value] as const),
  );
  return keyed(channels, 'channels').map(({ key, value }) => there.get(key) ?? value);
}

function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}
