/** How the keychain of the operating system stands. */
export const keychainStates = [
  'ready',
  'no_bus',
  'no_provider',
  'locked',
  'no_answer',
  'denied',
  'unavailable',
] as const;
/** `unavailable`: there is no library for this machine, or it failed in a way that is not known. */
export type KeychainState = (typeof keychainStates)[number];
