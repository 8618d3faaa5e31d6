/** Reads JSON of whatever shape, such as untrusted JSON. Pure; nothing here throws. */

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is an object with names: neither `null` nor a list. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; null: it is none. */
export function recordOf(value: unknown): Fields | null {
  return isObject(value) ? value : null;
}

/** The fields of an object; any other value has none. */
export const fieldsOf = (value: unknown): Fields => recordOf(value) ?? {};
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** @returns undefined if the text is no JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * JSON with sorted names in each object, so that equal values have the same text.
 * @returns null: the value is too deep or refers to itself
 */
export function canonicalJson(value: unknown): string | null {
  try {
    return JSON.stringify(value, (_name, part: unknown) => {
      if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
    });
  } catch {
    return null;
  }
}
