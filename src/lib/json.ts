/** Questions about JSON, of whatever shape. Pure. */

/** Whether a value is an object with names: neither `null` nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * JSON with the names of each object sorted, so that equal values are one text.
 * @returns null where a value is too deep or refers to itself
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
