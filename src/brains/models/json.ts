/** Reads untrusted JSON. Pure functions; none of them throws. */
import { isObject } from '../../lib/json.ts';

/** The value as an object; null: it is none. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return isObject(value) ? value : null;
}

/** @returns undefined if the text is no JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
