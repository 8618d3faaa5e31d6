/**
 * What the build leaves where npm put it. Few load Discord's libraries, and they have their own
 * undici. Those for a keychain and for the window are no JavaScript, or load what is none.
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
