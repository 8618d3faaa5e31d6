/**
 * What the admin room asks of secrets: where each stands, and to keep or remove one in the
 * keychain. Values go in, and come back by no way: no answer tells one, its length, or a part of
 * it. Nothing here is in a message's way.
 */
import type { SecretSource } from '../config/found-secret.ts';
import type { KeychainState } from '../domain/keychain-state.ts';

/** May be called at any time. Never rejects. */
export interface SecretControl {
  /**
   * The variables that the configuration in use names, then others that the keychain has. A
   * keychain that does not answer is told as such, within the keychain's own limit.
   */
  list(): Promise<SecretList>;
  /** The keychain's own list is looked at, and no value is read. @param names of variables */
  presence(names: readonly string[]): Promise<readonly SecretPresence[]>;
  /**
   * Changes are made one after the other, in the order of the calls.
   * @param value as `faultOfSecretValue` lets it be
   * @param left aborts when the client has left
   */
  set(name: string, value: string, left: AbortSignal): Promise<SecretChange>;
  delete(name: string, left: AbortSignal): Promise<SecretChange>;
}

export type SecretList = { readonly rows: readonly SecretRow[]; readonly store: SecretStore };

/** `source`: where the value stands that svc has, or would take; the first place counts. */
export type SecretPresence = {
  readonly name: string;
  readonly source: SecretSource | 'missing';
  /** Whether the keychain has one, used or not. */
  readonly inKeychain: boolean;
};

/**
 * `usedAt` are places in the configuration in use; none: the keychain alone has it. `restart`: what
 * stands in the keychain counts only after a restart, since svc has the value from before.
 */
export type SecretRow = SecretPresence & {
  readonly usedAt: readonly string[];
  readonly restart: boolean;
};

export const storeKinds = ['secret_service', 'keychain', 'credential_manager', 'none'] as const;
/** What the keychain of this system is; `none`: svc knows none for it. */
export type StoreKind = (typeof storeKinds)[number];

/** `message` and `remedy` are sentences; null where it is ready. */
export type SecretStore = {
  readonly kind: StoreKind;
  readonly state: KeychainState;
  readonly message: string | null;
  readonly remedy: string | null;
};

export type SecretChange =
  | { readonly kind: 'done' }
  | { readonly kind: 'not_found' }
  /** It opens the admin API itself, so whoever runs svc sets it. */
  | { readonly kind: 'by_hand' }
  /** As many as may be are kept. */
  | { readonly kind: 'full' }
  /** Too many wait for their turn. */
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'unavailable';
      readonly state: KeychainState;
      readonly message: string;
      readonly remedy: string;
    };
