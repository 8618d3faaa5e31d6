/**
 * Whether somebody shows trays here. On Linux a tray can always be made, and is seen by nobody
 * where no program has taken the watcher's name, as on a plain GNOME.
 * @see https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/StatusNotifierWatcher/
 */
import { sessionBusAddress } from '../../../../src/lib/session-bus.ts';

type Env = Readonly<Record<string, string | undefined>>;

const watcher = 'org.kde.StatusNotifierWatcher';
/** A bus answers in some milliseconds; one that hangs is not waited for. */
const answerMs = 1_000;

export async function hasTrayHost(
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> {
  if (platform === 'darwin' || platform === 'win32') return true;
  const busAddress = sessionBusAddress(env);
  if (busAddress === null) return false;
  const library = await import('dbus-native').catch(() => null);
  if (library === null) return false;
  const { promise: none, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), answerMs);
  try {
    const bus = library.createClient({ busAddress });
    bus.connection.on('error', () => resolve(false));
    try {
      return await Promise.race([
        none,
        bus.nameHasOwner(watcher).then(
          (has) => has,
          () => false,
        ),
      ]);
    } finally {
      bus.connection.end();
    }
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
