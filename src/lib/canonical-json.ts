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
