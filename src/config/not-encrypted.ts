import { isLoopbackHost, parseWebAddress } from './address.ts';
import type { ProblemList } from './problems.ts';

/**
 * Warns of an address to which a secret would go over plain http and a network.
 * @param url as the file has it; undefined where it could not be read
 * @param secret what goes there, in words
 */
export function checkEncrypted(
  url: string | null | undefined,
  secret: string,
  path: string,
  problems: ProblemList,
): void {
  const address = typeof url === 'string' ? parseWebAddress(url) : null;
  if (address === null || address.isSecure || isLoopbackHost(address.host)) return;
  const message = `${secret} goes to another machine, and nothing encrypts it on its way`;
  const remedy = 'Use https, or an address of this machine.';
  problems.add('not_encrypted', path, message, remedy);
}
