/**
 * The packages that the build leaves in node_modules. Few people load Discord's libraries, which
 * have their own undici. The packages for a keychain and for the window are, or load, native code.
 */
export const external = [
  /^@discordjs\//,
  /^@napi-rs\/keyring$/,
  /^@webviewjs\/webview$/,
  /^dbus-native$/,
] as const;

/** @param name of a package */
export function isExternal(name: string): boolean {
  return external.some((pattern) => pattern.test(name));
}
