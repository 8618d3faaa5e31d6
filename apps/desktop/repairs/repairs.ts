/**
 * What a button of the shell's page does to the configuration, its secrets and its file: all that
 * a person would do in a terminal. Nothing here restarts the service; a value of a secret goes in,
 * and comes out nowhere.
 */
import type { StuckProblem } from '../desktop.ts';

/** `told` and `message` are sentences for a person; no value is in them. */
export type Repaired = { readonly kind: 'done'; readonly told: string } | RepairFault;
export type RepairFault = { readonly kind: 'fault'; readonly message: string };

/** A configuration of before that has no problem. */
export type Earlier = {
  readonly revision: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
};

export type LogName = 'service' | 'application';
export type LogLines = {
  readonly file: string;
  /** Oldest first, as a person reads them; none: nothing was written yet. */
  readonly lines: readonly string[];
};

export type SavedText =
  | Repaired
  /** Nothing was saved. */
  | { readonly kind: 'problems'; readonly problems: readonly StuckProblem[] }
  /** The file is another one than the one that was read; nothing was saved. */
  | { readonly kind: 'changed' };

export type ReadText = {
  readonly kind: 'text';
  readonly text: string;
  readonly revision: string;
};

/** Nothing here rejects; many may ask at once, and are served one after the other. */
export interface Repairs {
  /** The configuration's text, for a person who changes it. */
  read(): Promise<ReadText | RepairFault>;
  /** Checks a text and puts it in the place of the one with this revision, which is kept. */
  save(text: string, revision: string): Promise<SavedText>;
  /**
   * Gives an address of the configuration another port: one that is free.
   * @param field its place
   * @param address as it is written there; where it is not, it is the default, or is mended by now
   */
  otherPort(field: string, address: string): Promise<Repaired>;
  /** Adds the admin block: the pages may change things from the next start on. */
  allowChanges(): Promise<Repaired>;
  /** Newest first; without the one that lies there. */
  earlier(): Promise<readonly Earlier[]>;
  takeBack(revision: string): Promise<Repaired>;
  /** Remembers the text that lies there as one that the service came up with. */
  remember(): Promise<void>;
  /** Keeps secrets in the keychain; what it may ask the person is asked once. */
  keepSecrets(values: ReadonlyMap<string, string>, stop: AbortSignal): Promise<Repaired>;
  /** Lets the keychain ask the person, once. */
  unlock(names: readonly string[], stop: AbortSignal): Promise<Repaired>;
  /** By the program that the person opens such things with. */
  openInSystem(what: 'folder' | 'logs'): Promise<Repaired>;
  lastLines(log: LogName): Promise<LogLines>;
}
