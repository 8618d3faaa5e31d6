/**
 * Loaded into a program by NODE_OPTIONS=--import: from then on the system's way of resolving names
 * is a question to the name server in OWN_NAME_SERVER. It is Node that is changed; the program
 * under test has no setting for this.
 */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const resolver = new dns.promises.Resolver({ timeout: 5_000, tries: 2 });
resolver.setServers([process.env['OWN_NAME_SERVER']!]);

const lookUp = async (name: string): Promise<readonly { readonly address: string }[]> => {
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  if (addresses.length === 0) throw new Error(`no address of ${name}`);
  return addresses.map((address) => ({ address }));
};

Object.assign(dns.promises, { lookup: lookUp });
syncBuiltinESMExports();
