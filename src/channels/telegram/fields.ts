/** Reads fields of Telegram's JSON, which is `unknown` at first. Pure. */

export type Wire = Readonly<Record<string, unknown>>;

export function object(value: unknown): Wire | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Wire)
    : null;
}

export function string(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
