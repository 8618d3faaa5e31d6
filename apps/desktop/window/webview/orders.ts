/** The orders that the shell gives to a webview's process, in one environment variable. */
import { join } from 'node:path';
import type { Places } from '../../places.ts';

export type WindowOrders = {
  /** The shell's socket. */
  readonly socket: string;
  /** The folder of the web engine's profile. */
  readonly profile: string;
  /** The file that tells the next shell that this process exists. */
  readonly pidFile: string;
  readonly origins: readonly string[];
};

export const ordersVariable = 'SVC_WINDOW';

export const pidFileOf = ({ runtime }: Pick<Places, 'runtime'>): string =>
  join(runtime, 'window.pid');

/** @returns null: svc did not start this process */
export function parseOrders(text: string | undefined): WindowOrders | null {
  try {
    const value = JSON.parse(text ?? '') as Readonly<Record<string, unknown>> | null;
    const { socket, profile, pidFile, origins } = value ?? {};
    if (typeof socket !== 'string' || typeof profile !== 'string') return null;
    if (typeof pidFile !== 'string' || !Array.isArray(origins)) return null;
    return { socket, profile, pidFile, origins: origins.map(String) };
  } catch {
    return null;
  }
}
