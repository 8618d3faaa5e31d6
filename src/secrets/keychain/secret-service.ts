/**
 * Looks into the keychain of a Linux desktop without unlocking it: which names it has, and whether
 * it is locked. Attributes are searched and no value is asked for.
 * @see https://specifications.freedesktop.org/secret-service-spec/latest/
 */
import type { MessageBus } from 'dbus-native';
import { sessionBusAddress } from '../../lib/session-bus.ts';
import { stateOfBusError } from './library-messages.ts';
import { helperFault, type HelperFault } from './wire.ts';

export type Look =
  | {
      readonly kind: 'looked';
      /** The names that are there, and whether each can be read without unlocking. */
      readonly names: ReadonlyMap<string, 'open' | 'locked'>;
      /** Where a new value would go; `none`: there is no keyring yet. */
      readonly keyring: 'open' | 'locked' | 'none';
    }
  | HelperFault;

type Env = Readonly<Record<string, string | undefined>>;

const destination = 'org.freedesktop.secrets';
const service = { destination, path: '/org/freedesktop/secrets' };
const serviceInterface = 'org.freedesktop.Secret.Service';

/** Waits for as long as the keychain does: who asks sets the limit. */
export async function lookIntoSecretService(names: readonly string[], env: Env): Promise<Look> {
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
  const { promise: lost, resolve } = Promise.withResolvers<Look>();
  // Of a bus that is not there, or that goes, nothing more than this is told.
  bus.connection.on('error', () => resolve(helperFault('no_bus')));
  try {
    return await Promise.race([lost, look(bus, names)]);
  } finally {
    bus.connection.end();
  }
}

async function look(bus: MessageBus, names: readonly string[]): Promise<Look> {
  try {
    const keyring = await keyringOf(bus);
    const found = new Map<string, 'open' | 'locked'>();
    for (const name of names) {
      const there = await search(bus, name);
      if (there !== null) found.set(name, there);
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

/** By the attributes under which the library stores. @returns null: there is no such item */
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

/** Under this name everything of svc stands in a keychain. */
export const keychainService = 'svc';

function busErrorName(error: unknown): string {
  const name = (error as { dbusName?: unknown } | null)?.dbusName;
  return typeof name === 'string' ? name : '';
}
