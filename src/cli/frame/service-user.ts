/**
 * Who works with the files of the machine's service. They belong to the user that it runs as, who
 * may put a link, or a configuration of theirs, in the place of any of them. So root becomes that
 * user before it looks at one: else whoever is in the service would have root's hands.
 */
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { ServiceSecrets } from '../../secrets/secrets.ts';
import { credentials, isOfUnit } from '../../app/service-place.ts';

/** Of the session of a person, which another user has no part in. */
const ofSession = ['DBUS_SESSION_BUS_ADDRESS', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'] as const;

/**
 * For good, and for all threads; it keeps the secrets that root alone may read. Does nothing where
 * this is not root, or the file is not the service's, or its folder is root's own.
 * @param file of the configuration, absolute
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
