/**
 * The port to secrets: where each is stored, and changes of the keychain. Values go in and never
 * come out: no answer has a value, its length or a part of it. All of it is off the message path.
 */
import type { SecretSource } from '../config/found-secret.ts';
import type { KeychainState } from '../domain/keychain-state.ts';

/** May be called at any time. Never rejects. */
export interface SecretControl {
  /**
   * The variables that the configuration in use names, then others in the keychain. If the keychain
   * does not answer within its own limit, the list says so.
   */
  list(): Promise<SecretList>;
  /**
   * Reads the keychain's list, but no value.
   * @param names of variables
   */
  presence(names: readonly string[]): Promise<readonly SecretPresence[]>;
  /**
   * Changes run one after the other, in the order of the calls.
   * @param value accepted by `faultOfSecretValue`
   * @param left aborts when the client has left
   */
  set(name: string, value: string, left: AbortSignal): Promise<SecretChange>;
  delete(name: string, left: AbortSignal): Promise<SecretChange>;
}

export type SecretList = { readonly rows: readonly SecretRow[]; readonly store: SecretStore };

/** `source`: where svc has the value from, or would take it from; the first place counts. */
export type SecretPresence = {
  readonly name: string;
  readonly source: SecretSource | 'missing';
  /** Whether the keychain has one, used or not. */
  readonly inKeychain: boolean;
};

/**
 * `usedAt` are places in the configuration in use; none: only the keychain has it. `restart`: the
 * keychain's value counts only after a restart, since svc has an earlier value.
 */
export type SecretRow = SecretPresence & {
  readonly usedAt: readonly string[];
  readonly restart: boolean;
};

export const storeKinds = ['secret_service', 'keychain', 'credential_manager', 'none'] as const;
/** The kind of this system's keychain; `none`: svc supports none here. */
export type StoreKind = (typeof storeKinds)[number];

/** `message` and `remedy` are sentences; null if it is ready. */
export type SecretStore = {
  readonly kind: StoreKind;
  readonly state: KeychainState;
  readonly message: string | null;
  readonly remedy: string | null;
};

export type SecretChange =
  | { readonly kind: 'done' }
  | { readonly kind: 'not_found' }
  /** It opens the admin API itself, so a person sets it on the machine. */
  | { readonly kind: 'by_hand' }
  /** The keychain has as many names as the API may store. */
  | { readonly kind: 'full' }
  /** Too many changes wait. */
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'unavailable';
      readonly state: KeychainState;
      readonly message: string;
      readonly remedy: string;
    };
