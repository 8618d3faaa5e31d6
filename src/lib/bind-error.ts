import { holderOfPort, describeHolder } from './holders.ts';

const remedies: Readonly<Record<string, string>> = {
  EACCES: 'this user may not listen there: choose a port from 1024 up',
  EADDRNOTAVAIL: 'this machine does not have that address: write one that it has, or 127.0.0.1',
  ENOTFOUND: 'that name is not known here: write an address, or 127.0.0.1',
};

/**
 * Why an address cannot be listened on, and what to do about it.
 * @param code the system's
 */
export function describeUnbound(code: string, port: number): string {
  if (code === 'EADDRINUSE') {
    const holder = `the program that listens there${describeHolder(holderOfPort(port))}`;
    return `the address is taken: stop ${holder}, or choose another port`;
  }
  return remedies[code] ?? 'write an address on which this machine can listen';
}
