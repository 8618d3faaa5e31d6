/** Where svc is installed as a system service, by the layout of its packages. */
import { dirname } from 'node:path';
import { pathExists } from '../lib/make-folder.ts';

const configFolder = '/etc/svc';
/** Where its systemd unit reads secrets from, one a file. Only root can read them. */
export const credentials = '/etc/credstore/svc';
const units = ['/etc/systemd/system/svc.service', '/usr/lib/systemd/system/svc.service'];

/**
 * The database path of a new configuration.
 * @param file the absolute path of the configuration
 */
export function databaseFor(file: string): string {
  // Elsewhere the database lies beside the file, so that conversations survive a restart.
  return dirname(file) === configFolder ? '/var/lib/svc/svc.db' : 'svc.db';
}

/** Whether a systemd unit starts svc with that file. */
export function isOfUnit(file: string, isThere = pathExists): boolean {
  return file === `${configFolder}/svc.json` && units.some((unit) => isThere(unit));
}

export const startOfUnit = 'sudo systemctl enable --now svc';

/**
 * A shell line that sets a secret of the unit: it generates the value, or asks the person for it.
 */
export function credentialLine(name: string, isMade: boolean): string {
  const value = isMade ? 'head -c 32 /dev/urandom | base64' : `systemd-ask-password -n ${name}:`;
  return `${value} | sudo tee ${credentials}/${name} >/dev/null`;
}
