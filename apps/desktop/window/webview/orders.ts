/** What the shell gives the process of a webview, in one variable. */
import { join } from 'node:path';
import type { Places } from '../../places.ts';

export type WindowOrders = {
  /** The shell's socket. */
  readonly socket: string;
  /** Of the web engine. */
  readonly profile: string;
  /** The file that tells the next shell that this process is there. */
  readonly pidFile: string;
  readonly origins: readonly string[];
};

export const ordersVariable = 'SVC_WINDOW';

export const pidFileOf = ({ runtime }: Pick<Places, 'runtime'>): string =>
  join(runtime, 'window.pid');

/** @returns null: nobody of svc started this process */
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
