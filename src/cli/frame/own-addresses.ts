/** The addresses that a process is given as flags. */
import { parseListenAddress } from '../../config/address.ts';
import type { ListenAddress } from '../../config/config.ts';
import { addressFlags, type OwnAddresses } from '../../config/own-addresses.ts';

type Written = Readonly<Record<keyof OwnAddresses, string | null>>;

/** The addresses, or a sentence about one that is none. */
export function readOwnAddresses(written: Written): OwnAddresses | { readonly fault: string } {
  const [webhook, admin] = [addressOf('webhook', written), addressOf('admin', written)];
  if (typeof webhook === 'string') return { fault: webhook };
  if (typeof admin === 'string') return { fault: admin };
  return { webhook, admin };
}

const examples = { webhook: '127.0.0.1:8090', admin: '127.0.0.1:2112' } as const;

/** @returns a sentence where it is no address */
function addressOf(which: keyof OwnAddresses, written: Written): ListenAddress | string | null {
  const text = written[which];
  if (text === null) return null;
  const address = parseListenAddress(text, true);
  if (address !== null) return address;
  return (
    `${addressFlags[which]} is an address to listen on, and "${text}" is none. Write host:port, ` +
    `:port or [::1]:port, with a port from 0 to 65535, such as ${examples[which]}.`
  );
}
