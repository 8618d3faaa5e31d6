/**
 * Loaded into a program by NODE_OPTIONS=--import. The system's name resolution then asks the name
 * server in OWN_NAME_SERVER. It changes Node, since the program under test has no setting for this.
 */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';
import { callbackify } from 'node:util';
import { patienceMs } from '../support/waiting.ts';

type Found = { readonly address: string; readonly family: number };

async function find(name: string): Promise<readonly Found[]> {
  if (isIP(name) !== 0) return [{ address: name, family: isIP(name) }];
  // One try for each question, since the name server counts them. A resolver that has seen quick
  // answers would not wait for the whole timeout, so each question has a new one.
  const resolver = new dns.promises.Resolver({ timeout: patienceMs, tries: 1 });
  resolver.setServers([process.env['OWN_NAME_SERVER']!]);
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value : []),
    ...(six.status === 'fulfilled' ? six.value : []),
  ];
  if (found.length === 0) throw new Error(`no address of ${name}`);
  return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

/** The form that sockets and listeners use, with all addresses or the first. */
const lookup = callbackify(async (name: string, options: { readonly all?: boolean }) => {
  const found = await find(name);
  return options.all === true ? found : found[0]!.address;
});

Object.assign(dns, { lookup });
Object.assign(dns.promises, { lookup: find });
syncBuiltinESMExports();
