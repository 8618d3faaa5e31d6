/**
 * Makes connections to this machine and to private networks alone. What is judged is the address
 * that is connected to, so that nothing can resolve to something else in between.
 */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isNear } from './address-range.ts';

/** The code of the error that a connection to elsewhere ends with, before it is begun. */
export const farAddressCode = 'SVC_FAR_ADDRESS';

/**
 * @param timeout milliseconds that a connection has to come about
 * @returns for an Agent of undici; of a name that leads to several addresses the near ones are used
 */
export function createNearConnector(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout, lookup: lookupNear });
  return (options, connected) => {
    const { hostname } = options;
    // An address is not looked up.
    if (isIP(hostname) === 0 || isNear(hostname)) return connect(options, connected);
    queueMicrotask(() => connected(farAddress(), null));
  };
}

const lookupNear: LookupFunction = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, []);
    const near = found.filter(({ address }) => isNear(address));
    const [first] = near;
    if (first === undefined) return done(farAddress(), []);
    if (options.all === true) done(null, near);
    else done(null, first.address, first.family);
  });
};

const farAddress = (): Error =>
  Object.assign(new Error('only near addresses are connected to'), { code: farAddressCode });
