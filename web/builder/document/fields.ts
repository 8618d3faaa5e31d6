/** Finds the schema's field for a path of a configuration. */
import type { ChoiceField, Field, ObjectField } from '../../../src/config/field.ts';
import type { Json } from '../../../src/config/locate.ts';
import { schema } from '../../../src/config/schema.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';

/** @returns null if the schema has no field there */
export function fieldAt(path: Path): Field | null {
  let field: Field = schema;
  for (const step of path) {
    if (typeof step === 'number') {
      if (field.type !== 'list') return null;
      field = field.items;
    } else {
      const inner: Field | undefined =
        field.type === 'object' && Object.hasOwn(field.fields, step)
          ? field.fields[step]
          : field.type === 'map'
            ? variableName
            : undefined;
      if (inner === undefined) return null;
      field = inner;
    }
  }
  return field;
}

/** The field for an entry of a map: the name of the variable of svc that holds the value. */
export const variableName = {
  type: 'text',
  format: 'env',
  description: 'The variable of svc that has the value.',
  required: true,
} as const satisfies Field;

export function keysAt(path: Path): readonly string[] {
  const field = fieldAt(path);
  return field?.type === 'object' ? Object.keys(field.fields) : [];
}

/**
 * Maps a text of a file to the contract's name for it; a text without such a name stays as it is.
 */
export function meant(field: ChoiceField, value: Json | undefined): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const synonyms = field.synonyms ?? {};
  return Object.hasOwn(synonyms, value) ? synonyms[value]! : value;
}

/** Keys that the conditions of an object require or fix for its present values. */
export type Demands = {
  readonly required: ReadonlySet<string>;
  readonly forbidden: ReadonlySet<string>;
  /** By key: the one value that the field may have. */
  readonly only: ReadonlyMap<string, string>;
};

export function demandsOf(field: ObjectField, value: Json | undefined): Demands {
  const required = new Set<string>();
  const forbidden = new Set<string>();
  const only = new Map<string, string>();
  for (const condition of field.conditions ?? []) {
    const holds = Object.entries(condition.when).every(([key, name]) => {
      const choice = field.fields[key];
      if (choice?.type !== 'choice' || !isObject(value)) return false;
      return (meant(choice, value[key]) ?? choice.default) === name;
    });
    if (!holds) continue;
    for (const key of condition.requires ?? []) required.add(key);
    for (const key of condition.forbids ?? []) forbidden.add(key);
    for (const [key, name] of Object.entries(condition.only ?? {})) only.set(key, name);
  }
  return { required, forbidden, only };
}
