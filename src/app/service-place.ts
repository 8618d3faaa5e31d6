/** Where svc is a service of the machine, as its packages for a system lay it out. */
import { dirname } from 'node:path';
import { isInPlace } from '../lib/make-folder.ts';

const configFolder = '/etc/svc';
/** Where its unit takes secrets from, one a file, which root alone reads. */
export const credentials = '/etc/credstore/svc';
const units = ['/etc/systemd/system/svc.service', '/usr/lib/systemd/system/svc.service'];

/**
 * What a new configuration says of its database.
 * @param file of the configuration, absolute
 */
export function databaseFor(file: string): string {
  // Beside the file: what a person talks about is to be there after a restart.
  return dirname(file) === configFolder ? '/var/lib/svc/svc.db' : 'svc.db';
}

/** Whether a unit of systemd starts svc with that file. */
export function isOfUnit(file: string, isThere = isInPlace): boolean {
  return file === `${configFolder}/svc.json` && units.some((unit) => isThere(unit));
}

export const startOfUnit = 'sudo systemctl enable --now svc';

/** A line that sets a secret of the unit: it makes the value, or asks a person for theirs. */
export function credentialLine(name: string, isMade: boolean): string {
  const value = isMade ? 'head -c 32 /dev/urandom | base64' : `systemd-ask-password -n ${name}:`;
  return `${value} | sudo tee ${credentials}/${name} >/dev/null`;
}
