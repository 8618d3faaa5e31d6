/**
 * The contract of a run of the service: its input (`Setup`), its addresses (`Listening`), its parts
 * for the process that started it (`Inside`), and its result (`Ending`).
 */
import type { ApplicationLink } from '../admin/application.ts';
import type { ChannelHealth } from '../channels/channel.ts';
import type { RunningType } from '../channels/registry.ts';
import type { Config, Secrets } from '../config/config.ts';
import type { ConfigProblem } from '../config/problems.ts';
import type { ConfigPlace } from '../config/inspect.ts';
import type { StoragePlace } from '../config/storage-place.ts';
import type { Admissions } from '../domain/gate.ts';
import type { Ledger, LedgerReader } from '../ledger/ledger.ts';
import type { TokenCheck } from '../lib/bearer.ts';
import type { Log } from '../lib/log.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';
import type { KeychainLimits } from './keychain.ts';
import type { TurnWatch } from './run-events.ts';
import type { StartWriter } from './storage.ts';

export type Setup = ConfigPlace & {
  readonly config: Config;
  readonly text: string;
  /** The lookup of secrets, which holds those of the configuration. */
  readonly lookup: ServiceSecrets;
  /** How long to wait for the keychain; left out: the usual time. */
  readonly keychainLimits?: KeychainLimits | undefined;
  /** Takes a function to call when the file must be read again. Null: the text is in no file. */
  readonly onReload: ((reload: () => void) => void) | null;
  /** null: without storage, everything is in memory. */
  readonly storage: StoragePlace | null;
  readonly secrets: Secrets;
  /** Warnings of the configuration check, for the status page. */
  readonly warnings: readonly ConfigProblem[];
  readonly log: Log;
  readonly version: string;
  /** The folder of the pages. */
  readonly webRoot: URL;
  /** Ends the service: drain, then close. */
  readonly stop: AbortSignal;
  /**
   * Ends the drain. Unfinished work returns to the ledger, or is lost if the ledger is in memory.
   */
  readonly abandon?: AbortSignal;
  /** Starts the writer to the disk; left out: a thread that starts when the storage opens. */
  readonly startWriter?: StartWriter | undefined;
  readonly onListening?: (at: Listening, inside: Inside) => void;
  readonly onTurn?: TurnWatch | undefined;
  /** The application around this run; null or left out: there is none. */
  readonly application?: Around | null;
};

/** The running service, for the process that started it and that acts as an operator. */
export type Inside = {
  readonly ledger: Ledger;
  /** The ledger's time of day, in milliseconds since 1970. */
  readonly now: () => number;
  readonly reader: LedgerReader;
  readonly admissions: Admissions;
  readonly channels: () => readonly (ChannelHealth & {
    readonly name: string;
    readonly type: RunningType;
  })[];
};

/** The application (`svc desktop`) around a run. */
export type Around = {
  readonly link: ApplicationLink;
  /** Whether this is the token of the user whom the application has signed in. */
  readonly matches: TokenCheck;
  /** The port of its window the last time; 0: none. */
  readonly port: number;
};

/**
 * `webhooks`: the URLs that messages are POSTed to, in the order of the file. `completions`: the
 * base URL of the API for clients; null: there is none. `window`: where the application's window
 * finds its pages; null: there is no application.
 */
export type Listening = {
  readonly webhooks: readonly string[];
  readonly completions: string | null;
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
      /** The configured address that svc could not listen on; null: another reason. */
      readonly unbound: Unbound | null;
    }
  /**
   * A failure that a restart may mend; the restart recovers all accepted messages. `code` is the
   * storage's; null: another part failed.
   */
  | { readonly kind: 'failed'; readonly code: string | null; readonly message: string };

/** `field`: the path of the address in the configuration. */
type Unbound = { readonly field: string; readonly address: string };
