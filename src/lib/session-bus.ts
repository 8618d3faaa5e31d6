/** Where the bus of the person's session listens: D-Bus, on Linux. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** As libdbus finds it: the variable, else the socket in the user's folder; null: there is none. */
export function sessionBusAddress(
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const named = env['DBUS_SESSION_BUS_ADDRESS'] ?? '';
  if (named !== '') return named;
  const folder = env['XDG_RUNTIME_DIR'] ?? '';
  const socket = join(folder, 'bus');
  return folder !== '' && existsSync(socket) ? `unix:path=${socket}` : null;
}
