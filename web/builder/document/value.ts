/** Reads values of a configuration's document. */
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, isList } from '../../../src/config/json-value.ts';
import type { Json } from '../../../src/config/locate.ts';
import type { Path } from '../../../src/config/edit/path.ts';

export { isEqual, isList };

/** @returns undefined if there is no value at the path */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  let at = value;
  for (const step of path) {
    if (typeof step === 'number') at = isList(at) ? at[step] : undefined;
    else at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at;
}

/** A text as it is, another value as JSON, undefined as an empty text. */
export function wordOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}
