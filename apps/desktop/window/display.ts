/**
 * Finds out whether there is a screen for a window, and gives a window's programs their
 * environment.
 */
import { connect, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/** Longer than any display of this machine takes to answer. */
const answerMs = 2_000;

/**
 * @returns null: there is a display; else a sentence on why not. The display goes away with the
 *   person's session. So another call after a window has ended shows whether the person logged out.
 */
export async function displayFault(
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Promise<string | null> {
  if (platform === 'win32' || platform === 'darwin') return null;
  const [wayland = '', x11 = ''] = [env['WAYLAND_DISPLAY'], env['DISPLAY']];
  if (wayland === '' && x11 === '') {
    return 'There is no display here: neither DISPLAY nor WAYLAND_DISPLAY is set.';
  }
  if (wayland !== '' && (await answers({ path: waylandSocket(wayland, env) }))) return null;
  const places = placesOfX11(x11);
  for (const place of places) if (await answers(place)) return null;
  if (x11 !== '' && places.length === 0) return null;
  const named = x11 === '' ? `WAYLAND_DISPLAY=${wayland}` : `DISPLAY=${x11}`;
  return `The display that ${named} names does not answer.`;
}

/**
 * The path of the display's socket:
 * https://wayland.freedesktop.org/docs/html/apb.html#Client-classwl__display
 */
function waylandSocket(name: string, env: Env): string {
  return name.startsWith('/') ? name : join(env['XDG_RUNTIME_DIR'] ?? '/', name);
}

/**
 * The places to connect to for a display `host:number.screen`, X(7); none: its format is unknown
 * here.
 */
export function placesOfX11(display: string): readonly NetConnectOpts[] {
  const [, host, number] = /^(.*):(\d+)(?:\.\d+)?$/.exec(display) ?? [];
  if (host === undefined || number === undefined) return [];
  if (host !== '' && host !== 'unix') return [{ host, port: 6_000 + Number(number) }];
  const path = `/tmp/.X11-unix/X${number}`;
  return [{ path }, { path: `\0${path}` }];
}

function answers(place: NetConnectOpts): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(place);
  const end = (isThere: boolean): void => {
    resolve(isThere);
    socket.destroy();
  };
  socket.setTimeout(answerMs, () => end(false));
  socket.once('connect', () => end(true));
  socket.once('error', () => end(false));
  return promise;
}

/** The environment of a window's programs: the variables that a desktop needs, and no secret. */

/** Variables of systems and desktops; compared without case, as Windows does. */
const names = new Set(
  (
    'HOME USER LOGNAME USERNAME SHELL PATH LANG LANGUAGE TZ TMPDIR TEMP TMP DISPLAY XAUTHORITY ' +
    'XMODIFIERS LD_LIBRARY_PATH BROWSER ICEAUTHORITY SESSION_MANAGER DESKTOP_SESSION ' +
    'WAYLAND_DISPLAY WAYLAND_SOCKET NODE_COMPILE_CACHE SVC_FROM_SOURCES __CF_USER_TEXT_ENCODING ' +
    'SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES ' +
    'PROGRAMFILES(X86) PROGRAMW6432 USERPROFILE USERDOMAIN SYSTEMDRIVE HOMEDRIVE HOMEPATH PUBLIC ' +
    'COMPUTERNAME NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE OS'
  ).split(' '),
);
const families =
  /^(?:XDG|LC|GTK|GDK|QT|KDE|GNOME|WEBKIT|WEBVIEW2|GST|DBUS|MESA|LIBGL|PULSE|WSL|SNAP)_/i;

/**
 * Selects the variables that a browser needs, by name. A browser lives on for days, and each of its
 * processes has these variables. So it gets no token that the shell was started with.
 */
export function windowEnvironment(env: Env): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (names.has(entry[0].toUpperCase()) || families.test(entry[0])),
  );
  return Object.fromEntries(kept);
}
