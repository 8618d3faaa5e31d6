/** Questions about JSON, of whatever shape. Pure. */

/** Whether a value is an object with names: neither `null` nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
