/** This machine's own addresses, in any notation. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { rangeOf } from './ip-address.ts';
import { lookup } from 'node:dns/promises';

/**
 * The normal form of an address.
 * @param address as text, without brackets or a zone
 * @returns IPv4 inside IPv6 (::ffff:0:0/96) as IPv4, other IPv6 shortened
 */
export function plainAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const six = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? address;
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(six);
  if (mapped === null) return six;
  const high = Number.parseInt(mapped[1]!, 16);
  const low = Number.parseInt(mapped[2]!, 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Whether the address means every address. Connecting to it connects to this machine. */
export function isUnspecified(address: string): boolean {
  const plain = plainAddress(address);
  return plain === '0.0.0.0' || plain === '::';
}

/**
 * Whether a connection to it ends at this machine: loopback, or a present address of an interface.
 */
export function isOwnAddress(address: string): boolean {
  if (isUnspecified(address) || rangeOf(address) === 'loopback') return true;
  const plain = plainAddress(address);
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((one) => plainAddress(one.address) === plain);
}

/** The origin at which processes of this machine reach a listener at this address. */
export function originOf({ host, port }: { readonly host: string; readonly port: number }): URL {
  const near = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return new URL(`http://${near.includes(':') ? `[${near}]` : near}:${port}`);
}

/**
 * Resolves a name like other programs of this machine do (its hosts file, then DNS), in the order
 * that the system prefers.
 * @returns its addresses, IPv4 and IPv6; rejects if there is none
 */
export async function resolveName(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}
