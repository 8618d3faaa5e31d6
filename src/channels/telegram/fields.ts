/** Reads fields of Telegram's JSON, which is `unknown` at first. Pure. */

import { isObject } from '../../lib/json.ts';

export type Wire = Readonly<Record<string, unknown>>;

export function object(value: unknown): Wire | null {
  return isObject(value) ? value : null;
}

export function string(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
