import { lookup } from 'node:dns/promises';

/**
 * Resolves a name as other programs of this machine do (its hosts file, then DNS), in the order
 * that the system prefers.
 * @returns its addresses, IPv4 and IPv6; rejects when there is none
 */
export async function resolveName(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}
