/**
 * The actions behind the buttons of the shell's page, on the configuration, its secrets and its
 * file: everything that a person would do in a terminal. No action restarts the service. A secret's
 * value goes in, and no result contains it.
 */
import type { StuckProblem } from '../desktop.ts';

/** `told` and `message` are sentences for a person, and contain no value of a secret. */
export type Repaired = { readonly kind: 'done'; readonly told: string } | RepairFault;
export type RepairFault = { readonly kind: 'fault'; readonly message: string };

/** An earlier configuration that has no problem. */
export type Earlier = {
  readonly revision: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
};

export type LogName = 'service' | 'application';
export type LogLines = {
  readonly file: string;
  /** Oldest first, formatted for a person; empty: nothing was written yet. */
  readonly lines: readonly string[];
};

export type SavedText =
  | Repaired
  /** The text has problems, and nothing was saved. */
  | { readonly kind: 'problems'; readonly problems: readonly StuckProblem[] }
  /** The file changed since it was read, and nothing was saved. */
  | { readonly kind: 'changed' };

export type ReadText = {
  readonly kind: 'text';
  readonly text: string;
  readonly revision: string;
};

/** No method rejects. Concurrent calls run one after the other. */
export interface Repairs {
  /** The text of the configuration, for a person who changes it. */
  read(): Promise<ReadText | RepairFault>;
  /** Checks the text and replaces the one with this revision. svc keeps the replaced text. */
  save(text: string, revision: string): Promise<SavedText>;
  /**
   * Gives an address of the configuration a free port.
   * @param field the place of the address in the configuration
   * @param address the address as it is written there; if it is not, it is the default, or was
   *   changed since
   */
  otherPort(field: string, address: string): Promise<Repaired>;
  /** Adds the admin block: after the next start, the pages may change things. */
  allowChanges(): Promise<Repaired>;
  /** The earlier configurations, newest first, without the current one. */
  earlier(): Promise<readonly Earlier[]>;
  takeBack(revision: string): Promise<Repaired>;
  /** Remembers the current text as one that the service started with. */
  remember(): Promise<void>;
  /** Stores secrets in the keychain. The keychain may ask the person at most once. */
  keepSecrets(values: ReadonlyMap<string, string>, stop: AbortSignal): Promise<Repaired>;
  /** Lets the keychain ask the person for its password, once. */
  unlock(names: readonly string[], stop: AbortSignal): Promise<Repaired>;
  /** Opens the folder in the person's file manager. */
  openInSystem(what: 'folder' | 'logs'): Promise<Repaired>;
  lastLines(log: LogName): Promise<LogLines>;
}
