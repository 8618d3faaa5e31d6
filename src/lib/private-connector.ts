/**
 * Limits connections to this machine and to private networks. svc checks the address that it
 * connects to, so no name can resolve to another address in between.
 */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isNear } from './ip-address.ts';

/** The error code of a connection to any other address, before the connection begins. */
export const farAddressCode = 'SVC_FAR_ADDRESS';

/** @returns whether it is an address (so nothing is looked up) and not a near one */
export function isFar(hostname: string): boolean {
  return isIP(hostname) !== 0 && !isNear(hostname);
}

/** A look-up for connections: if a name has several addresses, it gives only the near ones. */
export const lookupNear: LookupFunction = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, []);
    const near = found.filter(({ address }) => isNear(address));
    const [first] = near;
    if (first === undefined) return done(farAddressError(), []);
    if (options.all === true) done(null, near);
    else done(null, first.address, first.family);
  });
};

export const farAddressError = (): Error =>
  Object.assign(new Error('only near addresses are connected to'), { code: farAddressCode });
