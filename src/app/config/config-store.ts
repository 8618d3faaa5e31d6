/**
 * Where the configuration in use is stored, and the steps that replace it there. Stores: a file
 * with its history (file-store.ts), or the database of several instances (database-store.ts). The
 * installer checks a configuration and makes its running configuration. So there is one place where
 * a configuration comes into use.
 */
import type { OwnAddresses } from '../../config/own-addresses.ts';
import type { WarningStatus } from '../../admin/admin.ts';
import type {
  Applied,
  ConfigAsked,
  ConfigInUse,
  ConfigKept,
  ConfigOnDisk,
  ConfigRefused,
  ConfigRow,
  HistoryFault,
} from '../../config/config-control.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { Events } from '../../domain/event.ts';
import type { AskedBy, ConfigSnapshot, NextConfig } from './prepare.ts';

/** `apply` and `reload` run one after the other, and never during an `inTurn`. */
export interface ConfigStore extends AsyncDisposable {
  readonly place: ConfigInUse['place'];
  /** The absolute path; null: the configuration in use is in no file. */
  readonly file: string | null;
  /** Current problems of the store, or of other instances that share it. */
  readonly warnings: readonly WarningStatus[];
  onDisk(): Promise<ConfigOnDisk>;
  apply(asked: ConfigAsked): Promise<Applied>;
  /** Uses the configuration in this machine's file. */
  reload(): Promise<Applied>;
  history(): Promise<readonly ConfigRow[] | HistoryFault>;
  /** Returns the text of a revision, in use or not. */
  kept(revision: string): Promise<ConfigKept | HistoryFault | null>;
}

/** Brings a configuration into use in this process. */
export interface Installer {
  used(): ConfigSnapshot;
  /** Milliseconds since 1970. */
  usedAt(): number;
  readonly events: Events;
  /** Once aborted, no new configuration comes into use. */
  readonly stop: AbortSignal;
  prepare(inspection: Inspection, by: AskedBy): Promise<NextConfig | ConfigRefused>;
  /**
   * Opens a configuration beside the one in use. No other can open until this one is used or
   * dropped.
   */
  open(next: NextConfig): Promise<OpenedConfig | ConfigRefused>;
  use(next: NextConfig): Promise<Applied>;
  /** Waits until no other turn runs. No other turn begins before this one has ended. */
  inTurn<T>(act: () => Promise<T>): Promise<T>;
}

export type OpenedConfig = {
  readonly kind: 'opened';
  use(): Applied;
  drop(): Promise<void>;
};

/** The file that the configuration of this process came from. */
export type ConfigSource = {
  /** The absolute path. */
  readonly file: string;
  /** Overrides of the configured listen addresses; left out: none. */
  readonly addresses?: OwnAddresses | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Takes a function to call when the file must be read again. */
  readonly onReload: (reload: () => void) => void;
};
