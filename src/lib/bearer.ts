/**
 * Bearer tokens of requests: reading one, comparing it with a secret, and slowing wrong ones.
 * Format: RFC 6750, section 2.1; the scheme in any case (RFC 9110).
 */
import type { IncomingMessage } from 'node:http';
import { nodeCrypto } from './node-http.ts';
import { isIPv6 } from 'node:net';
import type { SteadyTime } from './clock.ts';
import { setNewest } from './cache.ts';

/** Whether a token is the secret. Nobody can read the secret back out of the function. */
export type TokenCheck = (token: string) => boolean;

/** The bearer token; null: there is none, or more than one Authorization header. */
export function bearerOf(request: IncomingMessage): string | null {
  const token = tokenOf(request.headers.authorization);
  if (token === null) return null;
  let count = 0;
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count++;
  }
  return count === 1 ? token : null;
}

function tokenOf(header: string | undefined): string | null {
  if (header === undefined || header.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  return header.slice(7).trim();
}

/** The longest secret that is compared directly. */
const plainBytesMax = 510;
const lengthBytes = 2;

/**
 * Makes a check whose time tells nothing about the secret or its length. It writes the token,
 * behind its length, into as many bytes as the longest direct secret has, and compares all of them.
 * For a longer secret it compares digests under a key that only this process knows.
 */
export function createTokenCheck(secret: string): TokenCheck {
  // Node reads header bytes as latin1, so this is the form of the right secret in a header.
  const right = Buffer.from(secret, 'utf8').toString('latin1');
  if (right.length > plainBytesMax) return createLongTokenCheck(right);
  const expected = Buffer.alloc(lengthBytes + plainBytesMax);
  const given = Buffer.alloc(expected.length);
  pad(right, expected);
  return (token) => {
    pad(token, given);
    // A character above 0xff was written as its lowest byte.
    return nodeCrypto().timingSafeEqual(given, expected) && !/[^\0-\xff]/.test(token);
  };
}

function pad(token: string, into: Buffer): void {
  into.fill(0, lengthBytes);
  into.writeUInt16LE(Math.min(token.length, 0xffff));
  into.write(token, lengthBytes, 'latin1');
}

/** Hashing in one call takes a third of the time of an HMAC. */
function createLongTokenCheck(right: string): TokenCheck {
  const { hash, randomBytes, timingSafeEqual } = nodeCrypto();
  const key = randomBytes(32).toString('hex');
  const digestOf = (text: string): Buffer => hash('sha256', key + text, 'buffer');
  const expected = digestOf(right);
  return (token) => timingSafeEqual(digestOf(token), expected);
}

/**
 * Slows clients that try bearer tokens. The more wrong tokens came from an address, the longer the
 * next answer to one waits. A right token never waits, even from the same address, since all
 * clients behind a proxy share one. For IPv6 the first 64 bits count: a machine usually has such a
 * network.
 */
const stepMs = 100;
export const delayMsMax = 5_000;
const forgetMs = 10 * 60_000;
/** Above this number, the address that was heard longest ago is forgotten. */
export const addressesMax = 1_024;

export class WrongBearers {
  readonly #free: number;
  readonly #steady: () => SteadyTime;
  readonly #byAddress = new Map<string, { count: number; at: SteadyTime }>();

  /**
   * @param free the number of wrong tokens of an address without delay: they may be typing errors
   */
  constructor(free: number, steady: () => SteadyTime) {
    this.#free = free;
    this.#steady = steady;
  }

  /** The number of remembered addresses. */
  get size(): number {
    return this.#byAddress.size;
  }

  /**
   * Counts one more wrong token.
   * @returns the delay of its answer, in milliseconds
   */
  add(address: string): number {
    const key = networkOf(address);
    const now = this.#steady();
    const before = this.#byAddress.get(key);
    const count = before === undefined || now - before.at > forgetMs ? 1 : before.count + 1;
    setNewest(this.#byAddress, key, { count, at: now }, addressesMax);
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
