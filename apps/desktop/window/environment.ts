/** What a window's programs get of the environment: what a desktop needs, and no secret. */

type Env = Readonly<Record<string, string | undefined>>;

/** Of systems and desktops; compared without case, as Windows does. */
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
 * A browser lives on for days, each of its processes with these variables: so it gets those that it
 * needs, by name, and no token that the shell was started with.
 */
export function windowEnvironment(env: Env): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (names.has(entry[0].toUpperCase()) || families.test(entry[0])),
  );
  return Object.fromEntries(kept);
}
