/**
 * The port to the configuration: the text in use, a new text, earlier texts; and its store, from
 * which the port answers.
 */
import type { ConfigProblem } from './problems.ts';

/** May be called at any time. Changes run one after the other. */
export interface ConfigControl {
  inUse(): ConfigInUse;
  /** The text in the file, in use or not. */
  onDisk(): Promise<ConfigOnDisk>;
  /** Brings a new text into use, or says why the old one stays in use and in its file. */
  apply(asked: ConfigAsked): Promise<Applied>;
  /** The configuration in use and the stored earlier ones, newest first. */
  history(): Promise<readonly ConfigRow[] | HistoryFault>;
  /** null: no such revision is stored. */
  kept(revision: string): Promise<ConfigKept | HistoryFault | null>;
}

/**
 * Where the configuration in use is stored, and the steps that replace it there. `apply` and
 * `reload` run one after the other, and never during a turn of the cluster (`inTurn`).
 */
export interface ConfigStore
  extends Pick<ConfigControl, 'onDisk' | 'apply' | 'history' | 'kept'>, AsyncDisposable {
  readonly place: ConfigInUse['place'];
  /** The absolute path; null: the configuration in use is in no file. */
  readonly file: string | null;
  /** Current problems of the store. */
  readonly warnings: readonly Pick<ConfigProblem, 'code' | 'path' | 'message' | 'remedy'>[];
  /** Uses the configuration in this machine's file. */
  reload(): Promise<Applied>;
}

/** A configuration that is open beside the one in use. */
export type OpenedConfig = {
  readonly kind: 'opened';
  use(): Applied;
  drop(): Promise<void>;
};

/** Times are milliseconds since 1970. */
export type ConfigInUse = {
  readonly revision: string;
  /** The text in use, even if the file has changed since. */
  readonly text: string;
  /** `database`: all processes that share it read it from there. */
  readonly place: 'file' | 'database' | 'nowhere';
  /** null: the configuration is in no file. */
  readonly file: string | null;
  readonly usedAt: number;
};

/** Without a text, `why` is a sentence, and `revision` that of an empty text. */
export type ConfigOnDisk = { readonly revision: string } & (
  | { readonly text: string; readonly why: null }
  | { readonly text: null; readonly why: string }
);

export type ConfigAsked = {
  readonly text: string;
  /** The revision to replace. */
  readonly revision: string;
  /** The revision of an edited file that may be replaced too; null: the file must not be edited. */
  readonly edited: string | null;
  /** Whether the caller could still connect if only these host names were allowed. */
  readonly mayAskWith: (allowedHosts: readonly string[]) => boolean;
};

export type ConfigRow = {
  readonly revision: string;
  readonly savedAt: number;
  readonly bytes: number;
  readonly used: boolean;
};

export type ConfigKept = {
  readonly revision: string;
  readonly savedAt: number;
  readonly text: string;
};

/** `detail` names the obstacle and the remedy. */
export type HistoryFault = { readonly kind: 'fault'; readonly detail: string };

export type Applied =
  | {
      readonly kind: 'applied';
      readonly revision: string;
      readonly usedAt: number;
      /** Sentences about what changed. */
      readonly changes: readonly string[];
      readonly warnings: readonly ConfigProblem[];
    }
  | ConfigRefused;

/** `detail` gives the reason and the remedy in a sentence or two. */
export type ConfigRefused = { readonly kind: 'refused'; readonly detail: string } & (
  | {
      /** Another revision is in use, or the file was edited; `revision` says which. */
      readonly code: 'revision_conflict' | 'file_changed';
      readonly revision: string;
    }
  | {
      readonly code: 'config_invalid' | 'secret_missing';
      readonly problems: readonly ConfigProblem[];
    }
  | {
      readonly code: 'restart_required';
      /** Paths of fields that need a restart. */
      readonly fields: readonly string[];
    }
  | {
      /** Other instances on the same database cannot use it, or did not answer. */
      readonly code: 'config_refused_by_instance';
      readonly refusals: readonly RefusedByInstance[];
    }
  | { readonly code: 'would_lock_out' | 'rolled_back' | 'not_saved' }
);

/** `reason` is the code of its refusal, or `silent`; `host` is empty if it is not known. */
export type RefusedByInstance = {
  readonly instance: number;
  readonly host: string;
  readonly version: string;
  readonly reason: string;
  readonly detail: string;
};
