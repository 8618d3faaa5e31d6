/**
 * Where the configuration in use is kept, and by which steps another takes its place there: a file
 * with its history (file-store.ts), or the database of several instances (database-store.ts).
 * What a configuration is to this process (its check, its plan) is the installer's, so that there
 * is one place where one goes into use.
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
} from '../../admin/config-control.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { Events } from '../../domain/event.ts';
import type { AskedBy, ConfigSnapshot, NextConfig } from './prepare.ts';

/** `apply` and `reload` are called one after the other, and never beside an `inTurn`. */
export interface ConfigStore extends AsyncDisposable {
  readonly place: ConfigInUse['place'];
  /** Absolute; null: what is in use stands in no file. */
  readonly file: string | null;
  /** Of what is wrong now with the place, or with others who take from it. */
  readonly warnings: readonly WarningStatus[];
  onDisk(): Promise<ConfigOnDisk>;
  apply(asked: ConfigAsked): Promise<Applied>;
  /** Takes what the file of this machine holds. */
  reload(): Promise<Applied>;
  history(): Promise<readonly ConfigRow[] | HistoryFault>;
  /** A text that is not in use, or is. */
  kept(revision: string): Promise<ConfigKept | HistoryFault | null>;
}

/** What brings a configuration into use in this process. */
export interface Installer {
  used(): ConfigSnapshot;
  /** Milliseconds since 1970. */
  usedAt(): number;
  readonly events: Events;
  /** Aborted: no new configuration is taken. */
  readonly stop: AbortSignal;
  prepare(inspection: Inspection, by: AskedBy): Promise<NextConfig | ConfigRefused>;
  /** Opens what it needs beside what is in use, and holds up every other until it is over. */
  open(next: NextConfig): Promise<OpenedConfig | ConfigRefused>;
  use(next: NextConfig): Promise<Applied>;
  /** Waits until nothing else is under way; nothing else begins before it has ended. */
  inTurn<T>(act: () => Promise<T>): Promise<T>;
}

export type OpenedConfig = {
  readonly kind: 'opened';
  use(): Applied;
  drop(): Promise<void>;
};

/** Where the configuration of this process came from. */
export type ConfigSource = {
  /** Absolute. */
  readonly file: string;
  /** Where this process listens instead of where a configuration says; left out: nowhere. */
  readonly addresses?: OwnAddresses | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file is to be read again whenever the given function is called. */
  readonly onReload: (reload: () => void) => void;
};
