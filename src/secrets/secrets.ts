/**
 * Where the values of secrets come from. A value that was read stays in this process; nothing here
 * shows one, and no error, log line or state holds one.
 */
import type { FoundSecrets, SecretSource } from '../config/found-secret.ts';
import type { KeychainState } from '../domain/keychain-state.ts';

/**
 * Looks names up: `NAME`, then the file in `NAME_FILE`, then `NAME` and `svc_NAME` in
 * `$CREDENTIALS_DIRECTORY`, then the keychain.
 */
export interface SecretLookup {
  /**
   * Names that stand nowhere are `missing`. Never rejects. Many may ask at the same time: the
   * keychain is asked for one after the other.
   * @param stop ends the wait for a place that does not answer
   */
  find(names: readonly string[], stop?: AbortSignal): Promise<FoundSecrets>;
}

/** Of a look-up, for who asks what this process holds; nothing is looked for. */
export interface HeldSecrets {
  /**
   * When the value of a name was found, milliseconds since 1970: what was stored later is not what
   * this process has. null: it holds none.
   */
  foundAt(name: string): number | null;
}

/**
 * The look-up of a process that runs a configuration. What this configuration was begun with stays,
 * and needs a restart to be another; all other names are looked for whenever they are asked for.
 */
export interface ServiceSecrets extends SecretLookup, HeldSecrets {
  /**
   * From now on, and until the next call, these are what is found under their names. What was
   * missing stays missing: what runs without it does not know of a value that came later.
   */
  hold(found: FoundSecrets): void;
  /**
   * Reads all of `$CREDENTIALS_DIRECTORY` now, and that is what stands there from now on: this
   * process is about to become a user who may not read it.
   */
  keepCredentials(): void;
  /** How each place stands for a name now, in order; of the keychain its index alone is asked. */
  places(name: string): Promise<readonly PlaceOfSecret[]>;
}

/** `unreadable`: no later place counts. No value is told. */
export type PlaceOfSecret = {
  readonly source: SecretSource;
  /** As a person would find it: `TOKEN in the environment`. */
  readonly text: string;
  readonly state: 'value' | 'empty' | 'absent' | 'unreadable';
};

/**
 * The keychain of the operating system, for one user. It is write-only from outside of svc: values
 * go in, and come back to nobody but the service. Only names in the index are ever asked for; with
 * an empty index nothing but a file is read.
 */
export interface Keychain {
  /** The index: what was stored from here, and when. Reads a file alone. */
  stored(): Promise<StoredSecrets>;
  /** Whether the keychain would answer now; opens no prompt. */
  state(stop?: AbortSignal): Promise<KeychainState>;
  /**
   * Which of these names the store itself has, of those in the index. No value is read where the
   * system can tell without, and no prompt opens: a locked store tells it too.
   */
  holds(names: readonly string[], stop?: AbortSignal): Promise<KeychainHoldings>;
  /** Of names in the index alone. May open one prompt, where a person can see it. */
  read(names: readonly string[], stop?: AbortSignal): Promise<KeychainValues>;
  set(name: string, value: string, stop?: AbortSignal): Promise<KeychainDone>;
  /** `absent`: it was neither in the index nor in the store. */
  delete(name: string, stop?: AbortSignal): Promise<KeychainDone | { readonly kind: 'absent' }>;
}

/** `setAt`: milliseconds since 1970. */
export type StoredSecret = { readonly name: string; readonly setAt: number };

/** A fault: the index cannot be read. It is left as it is, and no name is asked for. */
export type StoredSecrets =
  | { readonly kind: 'stored'; readonly secrets: readonly StoredSecret[] }
  | KeychainFault;

export type KeychainHoldings =
  | { readonly kind: 'held'; readonly names: ReadonlySet<string> }
  | KeychainFault;

export type KeychainFault = {
  readonly kind: 'fault';
  readonly state: Exclude<KeychainState, 'ready'>;
  /** What is so, and what to do: each a sentence of svc's own, never the library's. */
  readonly message: string;
  readonly remedy: string;
};

export type KeychainValues =
  | { readonly kind: 'read'; readonly values: ReadonlyMap<string, string> }
  | KeychainFault;

export type KeychainDone = { readonly kind: 'done' } | KeychainFault;
