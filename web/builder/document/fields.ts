/** The schema's field at a place of a configuration. */
import type { Field } from '../../../src/config/field.ts';
import { schema } from '../../../src/config/schema.ts';
import type { Path } from './path.ts';

/** null: the schema knows nothing there. */
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
          : undefined;
      if (inner === undefined) return null;
      field = inner;
    }
  }
  return field;
}

export function keysAt(path: Path): readonly string[] {
  const field = fieldAt(path);
  return field?.type === 'object' ? Object.keys(field.fields) : [];
}
