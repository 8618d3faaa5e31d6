/** What the admin room asks of the configuration in use: its text, a new text, earlier texts. */
import type { ConfigProblem } from '../config/config.ts';

/** May be called at any time; changes are made one after the other. */
export interface ConfigControl {
  inUse(): ConfigInUse;
  /** What lies in the file, in use or not. */
  onDisk(): Promise<ConfigOnDisk>;
  /** Takes a new text into use, or says why the old text stays in use and in its file. */
  apply(asked: ConfigAsked): Promise<Applied>;
  /** The configuration in use, and the earlier ones that are kept: newest first. */
  history(): Promise<readonly ConfigRow[] | HistoryFault>;
  /** null: no such revision is kept. */
  kept(revision: string): Promise<ConfigKept | HistoryFault | null>;
}

/** Times are milliseconds since 1970. */
export type ConfigInUse = {
  readonly revision: string;
  /** The text as it is in use, whatever became of the file since. */
  readonly text: string;
  /** `database`: all instances that share one have it from there. */
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
  /** The revision that the text is to replace. */
  readonly revision: string;
  /** The revision of the file where somebody edited it, to be replaced as well; null: no edit. */
  readonly edited: string | null;
  /** Whether the caller could still ask with these host names allowed. */
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

/** `detail` says what is in the way, and what to do. */
export type HistoryFault = { readonly kind: 'fault'; readonly detail: string };

export type Applied =
  | {
      readonly kind: 'applied';
      readonly revision: string;
      readonly usedAt: number;
      /** Sentences. */
      readonly changes: readonly string[];
      readonly warnings: readonly ConfigProblem[];
    }
  | ConfigRefused;

/** `detail` says in a sentence or two why, and what to do. */
export type ConfigRefused = { readonly kind: 'refused'; readonly detail: string } & (
  | {
      /** Another revision is in use, or the file is not the one in use; `revision` says which. */
      readonly code: 'revision_conflict' | 'file_changed';
      readonly revision: string;
    }
  | {
      readonly code: 'config_invalid' | 'secret_missing';
      readonly problems: readonly ConfigProblem[];
    }
  | {
      readonly code: 'restart_required';
      /** Paths of what belongs to the process. */
      readonly fields: readonly string[];
    }
  | {
      /** Others on the same database cannot use it, or did not say that they can. */
      readonly code: 'config_refused_by_instance';
      readonly refusals: readonly RefusedByInstance[];
    }
  | { readonly code: 'would_lock_out' | 'rolled_back' | 'not_saved' }
);

/** `reason` is the code of its refusal, or `silent`; `host` is empty where it is not known. */
export type RefusedByInstance = {
  readonly instance: number;
  readonly host: string;
  readonly version: string;
  readonly reason: string;
  readonly detail: string;
};
