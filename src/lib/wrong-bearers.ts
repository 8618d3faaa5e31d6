/**
 * Slows those who try bearers: the answer to a wrong one waits the longer, the more have come from
 * its address. A right bearer never waits, though it comes from the same address, as all do behind
 * a proxy. Of IPv6 the first 64 bits count, which is what one machine is given.
 */
import { isIPv6 } from 'node:net';
import type { SteadyTime } from './clock.ts';

const stepMs = 100;
export const delayMsMax = 5_000;
const forgetMs = 10 * 60_000;
/** Beyond, what was heard of longest ago is forgotten. */
export const addressesMax = 1_024;

export class WrongBearers {
  readonly #free: number;
  readonly #steady: () => SteadyTime;
  readonly #byAddress = new Map<string, { count: number; at: SteadyTime }>();

  /** @param free so many of an address have no delay: they may be typing errors */
  constructor(free: number, steady: () => SteadyTime) {
    this.#free = free;
    this.#steady = steady;
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#byAddress.size;
  }

  /** Counts one more wrong bearer. @returns how long its answer is to wait, in milliseconds */
  add(address: string): number {
    const key = networkOf(address);
    const now = this.#steady();
    const before = this.#byAddress.get(key);
    const count = before === undefined || now - before.at > forgetMs ? 1 : before.count + 1;
    this.#byAddress.delete(key);
    this.#byAddress.set(key, { count, at: now });
    const [oldest] = this.#byAddress.keys();
    if (this.#byAddress.size > addressesMax) this.#byAddress.delete(oldest!);
    return Math.min(delayMsMax, Math.max(0, count - this.#free) * stepMs);
  }
}

function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === '' ? [] : tail.split(':');
  const missing = Math.max(0, 8 - groups.length - behind.length);
  return [...groups, ...Array<string>(missing).fill('0'), ...behind].slice(0, 4).join(':');
}
