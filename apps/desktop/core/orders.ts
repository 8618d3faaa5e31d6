/** The orders that a shell gives to the core that it starts. */
import { isAbsolute } from 'node:path';
import type { CoreOrders } from '../desktop.ts';

const variable = 'SVC_DESKTOP';

export type OrdersTaken =
  | { readonly kind: 'orders'; readonly orders: CoreOrders }
  /** svc runs without a shell. */
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly message: string };

/**
 * Takes the orders out of the environment, so that no process started by this one becomes a core.
 */
export function takeOrders(env: Readonly<Record<string, string | undefined>>): OrdersTaken {
  const text = env[variable];
  if (text === undefined) return { kind: 'none' };
  // The type is read-only for the commands, but this is the environment of this process.
  Reflect.deleteProperty(env, variable);
  const orders = parse(text);
  if (orders !== null) return { kind: 'orders', orders };
  return { kind: 'fault', message: `${variable} is for svc itself: unset it` };
}

function parse(text: string): CoreOrders | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    const { socket, port, logFolder, lends } = value as Readonly<Record<string, unknown>>;
    if (typeof socket !== 'string' || socket === '') return null;
    if (typeof logFolder !== 'string' || !isAbsolute(logFolder)) return null;
    if (!Number.isInteger(port) || Number(port) < 0 || Number(port) > 65_535) return null;
    return { socket, port: Number(port), logFolder, lends: lends === true };
  } catch {
    return null;
  }
}
