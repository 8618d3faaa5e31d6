/**
 * What a run of the service is given (`Setup`), where it listens, what it offers to the process
 * that started it (`Inside`), and how it ends (`Ending`).
 */
import type { ApplicationLink } from '../admin/application.ts';
import type { ChannelHealth } from '../channels/channel.ts';
import type { ChannelType } from '../channels/registry.ts';
import type { Config, ConfigProblem, Secrets } from '../config/config.ts';
import type { OwnAddresses } from '../config/own-addresses.ts';
import type { StoragePlace } from '../config/storage-place.ts';
import type { Admissions } from '../domain/gate.ts';
import type { Ledger, LedgerReader } from '../ledger/ledger.ts';
import type { TokenCheck } from '../lib/bearer.ts';
import type { Log } from '../lib/log.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';
import type { KeychainLimits } from './keychain.ts';
import type { TurnWatch } from './run-events.ts';
import type { StartWriter } from './storage.ts';

export type Setup = {
  readonly config: Config;
  readonly text: string;
  /** Where the configuration lies, absolute; relative paths are taken from its folder. */
  readonly file: string;
  /** Where this process listens instead of where a configuration says; left out: nowhere. */
  readonly addresses?: OwnAddresses;
  /** For the place of the default database. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where secrets were looked up; it holds those of the configuration. */
  readonly lookup: ServiceSecrets;
  /** How long the keychain is waited for; left out: as long as it is usual. */
  readonly keychainLimits?: KeychainLimits | undefined;
  /** Calls the given function when the file is to be read again; null: the text is in no file. */
  readonly onReload: ((reload: () => void) => void) | null;
  /** null: no storage, everything in memory. */
  readonly storage: StoragePlace | null;
  readonly secrets: Secrets;
  /** What the check of the config warned of, for the status page. */
  readonly warnings: readonly ConfigProblem[];
  readonly log: Log;
  readonly version: string;
  /** The folder of the pages. */
  readonly webRoot: URL;
  /** Ends the service: drain, then close. */
  readonly stop: AbortSignal;
  /** Ends the drain: what is in hand is given back to the ledger, or lost where it is in memory. */
  readonly abandon?: AbortSignal;
  /** Who writes to the disk; left out: a thread that is begun when the storage is opened. */
  readonly startWriter?: StartWriter | undefined;
  readonly onListening?: (at: Listening, inside: Inside) => void;
  readonly onTurn?: TurnWatch | undefined;
  /** The application around this run; null and left out: it runs by itself. */
  readonly application?: Around | null;
};

/** The running service, for who started it in this process and stands where an operator does. */
export type Inside = {
  readonly ledger: Ledger;
  /** Its time of day, in milliseconds since 1970. */
  readonly now: () => number;
  readonly reader: LedgerReader;
  readonly admissions: Admissions;
  /** The channels in use, each with its health. */
  readonly channels: () => readonly (ChannelHealth & { readonly type: ChannelType })[];
};

/** The application around a run. */
export type Around = {
  readonly link: ApplicationLink;
  /** Whether this is the token of who is signed in by it now. */
  readonly matches: TokenCheck;
  /** The port of its window the last time; 0: there was none. */
  readonly port: number;
};

/** `window`: where the window of the application finds its pages; null: there is none around it. */
export type Listening = {
  readonly webhook: string | null;
  readonly admin: string | null;
  readonly window: WindowPlace | null;
};

/** `origin`: `http://127.0.0.1:<port>`. */
export type WindowPlace = { readonly origin: string; readonly canWrite: boolean };

/** How a run of the service ends. */
export type Ending =
  | { readonly kind: 'ended' }
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly message: string;
      /** The address of the configuration that could not be had; null: it is about none. */
      readonly unbound: Unbound | null;
    }
  /**
   * It failed in a way that a restart may mend; the restart recovers what was accepted. `code` is
   * the storage's; null: another part failed.
   */
  | { readonly kind: 'failed'; readonly code: string | null; readonly message: string };

/** `field`: its place in the configuration. */
type Unbound = { readonly field: string; readonly address: string };
