/**
 * The contract of secrets: the lookup of their values, and the keychain. A value stays in this
 * process. Nothing here shows one, and no error, log line or state holds one.
 */
import type { SecretLookupResults, SecretSource } from '../config/found-secret.ts';
import type { KeychainState } from '../domain/keychain-state.ts';

/**
 * Looks up the values of secrets. For a name, the places in order are: the variable `NAME`, the
 * file in `NAME_FILE`, `NAME` and `svc_NAME` in `$CREDENTIALS_DIRECTORY`, the keychain.
 */
export interface SecretLookup {
  /**
   * Finds the values of these names. A name without a value in any place is `missing`. Never
   * rejects. Concurrent calls are allowed: they ask the keychain one after the other.
   * @param stop ends the wait for a place that does not answer
   */
  find(names: readonly string[], stop?: AbortSignal): Promise<SecretLookupResults>;
}

/** The part of a lookup that says what this process holds. It reads no place. */
export interface HeldSecrets {
  /**
   * When this process found the value of a name, milliseconds since 1970; null: it holds none. A
   * value stored later is not the one that this process has.
   */
  foundAt(name: string): number | null;
}

/**
 * The lookup of a process that runs a configuration. Secrets of the start configuration keep their
 * values until a restart. All other names are looked up on every call.
 */
export interface ServiceSecrets extends SecretLookup, HeldSecrets {
  /**
   * Fixes these results under their names until the next call. A missing secret stays missing: the
   * parts that run without it do not know of a later value.
   */
  hold(found: SecretLookupResults): void;
  /**
   * Reads all of `$CREDENTIALS_DIRECTORY` now, and answers from that copy from now on. Call it
   * before this process becomes a user who may not read the folder.
   */
  keepCredentials(): void;
  /**
   * The present state of each place for a name, in order. Of the keychain, only the index is read.
   */
  places(name: string): Promise<readonly PlaceOfSecret[]>;
}

/** The state of one place, without the value. `unreadable`: no later place counts. */
export type PlaceOfSecret = {
  readonly source: SecretSource;
  /** In words for a person: `TOKEN in the environment`. */
  readonly text: string;
  readonly state: 'value' | 'empty' | 'absent' | 'unreadable';
};

/**
 * The keychain of the operating system, for one user. From outside svc it is write-only: only the
 * service can read values back. svc asks only for names in its index. With an empty index it reads
 * nothing but a file.
 */
export interface Keychain {
  /** The index: the names that svc stored, and when. Reads only a file. */
  stored(): Promise<StoredSecrets>;
  /** Whether the keychain would answer now. Opens no prompt. */
  state(stop?: AbortSignal): Promise<KeychainState>;
  /**
   * Which of these names the store itself has, among those in the index. Opens no prompt: a locked
   * store can answer too. Reads no value, unless the system has no other way to answer.
   */
  holds(names: readonly string[], stop?: AbortSignal): Promise<KeychainHoldings>;
  /** Reads values, only of names in the index. May open one prompt, if a person can see it. */
  read(names: readonly string[], stop?: AbortSignal): Promise<KeychainValues>;
  set(name: string, value: string, stop?: AbortSignal): Promise<KeychainDone>;
  /** @returns `absent` if the name was neither in the index nor in the store */
  delete(name: string, stop?: AbortSignal): Promise<KeychainDone | { readonly kind: 'absent' }>;
}

/** `setAt`: milliseconds since 1970. */
export type StoredSecret = { readonly name: string; readonly setAt: number };

/**
 * A fault means that the index cannot be read. svc then leaves it as it is, and asks for no name.
 */
export type StoredSecrets =
  | { readonly kind: 'stored'; readonly secrets: readonly StoredSecret[] }
  | KeychainFault;

export type KeychainHoldings =
  | { readonly kind: 'held'; readonly names: ReadonlySet<string> }
  | KeychainFault;

export type KeychainFault = {
  readonly kind: 'fault';
  readonly state: Exclude<KeychainState, 'ready'>;
  /** The state and the remedy, each in a sentence of svc's own, never the library's. */
  readonly message: string;
  readonly remedy: string;
};

export type KeychainValues =
  | { readonly kind: 'read'; readonly values: ReadonlyMap<string, string> }
  | KeychainFault;

export type KeychainDone = { readonly kind: 'done' } | KeychainFault;
