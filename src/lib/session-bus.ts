/** The address of the session bus of the person: D-Bus, on Linux. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The address as libdbus finds it: the variable, otherwise the socket in the user's folder. Null:
 * there is none.
 */
export function sessionBusAddress(
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const named = env['DBUS_SESSION_BUS_ADDRESS'] ?? '';
  if (named !== '') return named;
  const folder = env['XDG_RUNTIME_DIR'] ?? '';
  const socket = join(folder, 'bus');
  return folder !== '' && existsSync(socket) ? `unix:path=${socket}` : null;
}
