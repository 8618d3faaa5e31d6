/**
 * What the library and the bus say of a keychain that does not answer, as a state. The library has
 * one code for everything, `GenericFailure`, so that only its words tell more. They go no further
 * than this table.
 */
import type { HelperFault } from './wire.ts';

type Row = { readonly says: RegExp; readonly state: HelperFault['state'] };

/** The first row that fits counts. Words of @napi-rs/keyring 2.1.2 and of what it is made of. */
const rows: Readonly<Record<'linux' | 'darwin' | 'win32', readonly Row[]>> = {
  // dbus-secret-service and libdbus.
  linux: [
    { says: /set your DBUS_SESSION_BUS_ADDRESS|autolaunch/i, state: 'no_bus' },
    { says: /Failed to connect to socket|Unable to determine the address/i, state: 'no_bus' },
    { says: /not provided by any \.service files/i, state: 'no_provider' },
    { says: /No DBus session or Secret Service provider/i, state: 'no_provider' },
    { says: /prompt (was )?dismissed|object (is )?locked/i, state: 'locked' },
    { says: /Did not receive a reply|NoReply|timed out|disconnected/i, state: 'no_answer' },
    { says: /access ?denied|not allowed|permission denied/i, state: 'denied' },
  ],
  // Security.framework: SecBase.h has the numbers.
  darwin: [
    { says: /-25308|interaction is not allowed/i, state: 'denied' },
    { says: /-128\b|user cancell?ed/i, state: 'denied' },
    {
      says: /-25293|authorization\/authentication failed|passphrase.*not correct/i,
      state: 'denied',
    },
    { says: /-25307|default keychain could not be found/i, state: 'no_provider' },
    { says: /-25291|no keychain is available/i, state: 'no_provider' },
  ],
  // Credential Manager: ERROR_NO_SUCH_LOGON_SESSION is what SSH and services get.
  win32: [
    { says: /logon session does not exist|\b1312\b/i, state: 'no_provider' },
    { says: /access is denied|\bERROR_ACCESS_DENIED\b/i, state: 'denied' },
  ],
};

/** @param message of an error of the library */
export function stateOfMessage(
  message: string,
  platform: NodeJS.Platform = process.platform,
): HelperFault['state'] {
  const table = platform === 'darwin' || platform === 'win32' ? rows[platform] : rows.linux;
  return table.find(({ says }) => says.test(message))?.state ?? 'unavailable';
}

/**
 * The names of errors that a bus answers with.
 * @see https://dbus.freedesktop.org/doc/api/html/group__DBusProtocol.html
 */
const busErrors: ReadonlyMap<string, HelperFault['state']> = new Map([
  ['org.freedesktop.DBus.Error.ServiceUnknown', 'no_provider'],
  ['org.freedesktop.DBus.Error.NameHasNoOwner', 'no_provider'],
  ['org.freedesktop.DBus.Error.UnknownMethod', 'no_provider'],
  ['org.freedesktop.DBus.Error.UnknownInterface', 'no_provider'],
  ['org.freedesktop.DBus.Error.UnknownObject', 'no_provider'],
  ['org.freedesktop.DBus.Error.NoReply', 'no_answer'],
  ['org.freedesktop.DBus.Error.Timeout', 'no_answer'],
  ['org.freedesktop.DBus.Error.TimedOut', 'no_answer'],
  ['org.freedesktop.DBus.Error.Disconnected', 'no_bus'],
  ['org.freedesktop.DBus.Error.NoServer', 'no_bus'],
  ['org.freedesktop.DBus.Error.AccessDenied', 'denied'],
  ['org.freedesktop.Secret.Error.IsLocked', 'locked'],
]);

/** Whatever keeps the program from starting that the bus would start: there is none. */
export function stateOfBusError(name: string): HelperFault['state'] {
  if (name.startsWith('org.freedesktop.DBus.Error.Spawn.')) return 'no_provider';
  return busErrors.get(name) ?? 'unavailable';
}
