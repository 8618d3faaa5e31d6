/** The states of the operating system's keychain. */
export const keychainStates = [
  'ready',
  'no_bus',
  'no_provider',
  'locked',
  'no_answer',
  'denied',
  'unavailable',
] as const;
/** `unavailable`: there is no library for this machine, or it failed in an unknown way. */
export type KeychainState = (typeof keychainStates)[number];
