/**
 * Probes the keychain of a Linux desktop without unlocking it: which names it has, and whether it
 * is locked. It searches attributes and asks for no value.
 * @see https://specifications.freedesktop.org/secret-service-spec/latest/
 */
import type { MessageBus } from 'dbus-native';
import { sessionBusAddress } from '../../lib/session-bus.ts';
import { helperFault, type HelperFault } from './wire.ts';

export type ProbeResult =
  | {
      readonly kind: 'looked';
      /** The names found, and whether each can be read without unlocking. */
      readonly names: ReadonlyMap<string, 'open' | 'locked'>;
      /** The state of the keyring that would take a new value; `none`: there is no keyring yet. */
      readonly keyring: 'open' | 'locked' | 'none';
    }
  | HelperFault;

type Env = Readonly<Record<string, string | undefined>>;

const destination = 'org.freedesktop.secrets';
const service = { destination, path: '/org/freedesktop/secrets' };
const serviceInterface = 'org.freedesktop.Secret.Service';

/** Probes the Secret Service. Has no time limit of its own: the caller sets one. */
export async function probeSecretService(names: readonly string[], env: Env): Promise<ProbeResult> {
  const busAddress = sessionBusAddress(env);
  if (busAddress === null) return helperFault('no_bus');
  const library = await import('dbus-native').catch(() => null);
  if (library === null) return helperFault('unavailable', 'no_library');
  let bus: MessageBus;
  try {
    bus = library.createClient({ busAddress, plainValues: true });
  } catch {
    return helperFault('no_bus');
  }
  const { promise: lost, resolve } = Promise.withResolvers<ProbeResult>();
  // For a bus that is missing, or goes away, the only report is `no_bus`.
  bus.connection.on('error', () => resolve(helperFault('no_bus')));
  try {
    return await Promise.race([lost, probeNames(bus, names)]);
  } finally {
    bus.connection.end();
  }
}

async function probeNames(bus: MessageBus, names: readonly string[]): Promise<ProbeResult> {
  try {
    const keyring = await keyringOf(bus);
    const found = new Map<string, 'open' | 'locked'>();
    for (const name of names) {
      const state = await search(bus, name);
      if (state !== null) found.set(name, state);
    }
    return { kind: 'looked', names: found, keyring };
  } catch (error) {
    return helperFault(stateOfBusError(busErrorName(error)));
  }
}

async function keyringOf(bus: MessageBus): Promise<'open' | 'locked' | 'none'> {
  const path = await bus.invoke<unknown>({
    ...service,
    interface: serviceInterface,
    member: 'ReadAlias',
    signature: 's',
    body: ['default'],
  });
  if (typeof path !== 'string' || path === '/') return 'none';
  const locked = await bus.invoke<unknown>({
    destination,
    path,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    signature: 'ss',
    body: ['org.freedesktop.Secret.Collection', 'Locked'],
  });
  return locked === true ? 'locked' : 'open';
}

/**
 * Finds an item by the attributes under which the library stores it.
 * @returns null when there is no such item
 */
async function search(bus: MessageBus, name: string): Promise<'open' | 'locked' | null> {
  const found = await bus.invoke<unknown>({
    ...service,
    interface: serviceInterface,
    member: 'SearchItems',
    signature: 'a{ss}',
    body: [{ service: keychainService, username: name }],
  });
  const [open, locked] = Array.isArray(found) ? found : [];
  if (Array.isArray(open) && open.length > 0) return 'open';
  return Array.isArray(locked) && locked.length > 0 ? 'locked' : null;
}

/** The service name of all svc items in a keychain. */
export const keychainService = 'svc';

function busErrorName(error: unknown): string {
  const name = (error as { dbusName?: unknown } | null)?.dbusName;
  return typeof name === 'string' ? name : '';
}

/**
 * A row that translates an error message into a state. The library has one code for every failure,
 * `GenericFailure`, so only its message says more. These messages go no further than this table.
 */
type Row = { readonly says: RegExp; readonly state: HelperFault['state'] };

/**
 * The first matching row counts. The messages are those of @napi-rs/keyring 2.1.2 and its
 * dependencies.
 */
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
  // Security.framework; SecBase.h lists the numbers.
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
  // Credential Manager. SSH sessions and services get ERROR_NO_SUCH_LOGON_SESSION.
  win32: [
    { says: /logon session does not exist|\b1312\b/i, state: 'no_provider' },
    { says: /access is denied|\bERROR_ACCESS_DENIED\b/i, state: 'denied' },
  ],
};

/** @param message the message of a library error */
export function stateOfMessage(
  message: string,
  platform: NodeJS.Platform = process.platform,
): HelperFault['state'] {
  const table = platform === 'darwin' || platform === 'win32' ? rows[platform] : rows.linux;
  return table.find(({ says }) => says.test(message))?.state ?? 'unavailable';
}

/**
 * The states for the names of bus errors.
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

/**
 * The state for a bus error. If the bus cannot start the keychain's program, there is no provider.
 */
export function stateOfBusError(name: string): HelperFault['state'] {
  if (name.startsWith('org.freedesktop.DBus.Error.Spawn.')) return 'no_provider';
  return busErrors.get(name) ?? 'unavailable';
}
