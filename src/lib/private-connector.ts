/**
 * What keeps connections to this machine and to private networks. What is judged is the address
 * that is connected to, so that nothing can resolve to something else in between.
 */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isNear } from './ip-address.ts';

/** The code of the error that a connection to elsewhere ends with, before it is begun. */
export const farAddressCode = 'SVC_FAR_ADDRESS';

/** @returns whether it is an address, which is not looked up, and not a near one */
export function isFar(hostname: string): boolean {
  return isIP(hostname) !== 0 && !isNear(hostname);
}

/** For a connection: of a name that leads to several addresses the near ones are used. */
export const lookupNear: LookupFunction = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, []);
    const near = found.filter(({ address }) => isNear(address));
    const [first] = near;
    if (first === undefined) return done(farAddress(), []);
    if (options.all === true) done(null, near);
    else done(null, first.address, first.family);
  });
};

export const farAddress = (): Error =>
  Object.assign(new Error('only near addresses are connected to'), { code: farAddressCode });
