/** Looking into the value of a configuration's text. */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import type { Path } from './path.ts';

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** What stands at a path; undefined where nothing does. */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  let at = value;
  for (const step of path) {
    if (typeof step === 'number') at = isList(at) ? at[step] : undefined;
    else at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at;
}

/** Whether two values mean the same; the order of keys means nothing. */
export function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isList(a)) {
    return isList(b) && a.length === b.length && a.every((one, at) => isEqual(one, b[at]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** A text as it is, anything else as JSON; nothing as an empty text. */
export function wordOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}
