/**
 * Makes root become the user of the machine's service before it works with the service's files.
 * That user owns these files, and may replace any of them by a link or by another configuration.
 * Otherwise whoever controls the service could act with root's rights.
 */
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { ServiceSecrets } from '../../secrets/secrets.ts';
import { credentials, isOfUnit } from '../../app/service-place.ts';

/** Variables of a person's session, which do not belong to another user. */
const ofSession = ['DBUS_SESSION_BUS_ADDRESS', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'] as const;

/**
 * Changes the user for good, and for all threads. It keeps the secrets that only root can read. It
 * does nothing if this is not root, if the file is not the service's, or if root owns its folder.
 * @param file the absolute path of the configuration
 */
export function becomeServiceUser(
  file: string,
  secrets?: Pick<ServiceSecrets, 'keepCredentials'>,
): void {
  const { getuid, setgroups, setgid, setuid } = process;
  if (getuid?.() !== 0 || !isOfUnit(file)) return;
  const folder = statSync(dirname(file), { throwIfNoEntry: false });
  if (folder === undefined || folder.uid === 0) return;
  process.env['CREDENTIALS_DIRECTORY'] ??= credentials;
  secrets?.keepCredentials();
  setgroups!([folder.gid]);
  setgid!(folder.gid);
  setuid!(folder.uid);
  for (const name of ofSession) delete process.env[name];
  process.env['HOME'] = userInfo().homedir;
}
