/**
 * The contract of a command: its flags, its help, and what it may use of the process. A command
 * reads its arguments, does its work through `src/app/`, and reports the result as an exit code.
 */
import type { Readable, Writable } from 'node:stream';
import type { KeychainLimits } from '../app/keychain.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';

/**
 * The flags of one command, by name. A `strings` flag may be given several times. Shell completion
 * offers `values`; without them it offers files for `config`, and nothing for any other flag.
 */
export type FlagTable = Readonly<
  Record<
    string,
    {
      readonly type: 'string' | 'strings' | 'boolean';
      readonly values?: readonly string[] | 'file';
    }
  >
>;

export interface Command {
  /** As typed: `serve`, `config check`. */
  readonly name: string;
  /** One line for `svc help`. */
  readonly summary: string;
  /** The whole page for `svc help <name>`. */
  readonly usage: string;
  /** Its own flags. Every command also has `--help`. */
  readonly flags: FlagTable;
  /** The possible values of its first argument; `file`: the argument is the path of a file. */
  readonly takes?: readonly string[] | 'file';
  /** @returns the exit code */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** What a command may use of the process. Data goes to stdout, everything else to stderr. */
export type Io = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Looks up the values of secrets, for the whole process. */
  readonly secrets: ServiceSecrets;
  /** Time limits for the keychain; absent: the usual ones. */
  readonly keychainLimits?: KeychainLimits | undefined;
  /** Aborts at the first SIGINT or SIGTERM, or at a hang-up for which no `onHangUp` was set. */
  readonly stop: AbortSignal;
  /** Aborts when the command must no longer wait for work in hand. It comes after `stop`. */
  readonly abandon: AbortSignal;
  /** Sets the function that a hang-up calls from now on, in a process without a terminal. */
  readonly onHangUp: (act: () => void) => void;
};

/**
 * `config` is a problem of the configuration or of a secret. It is a code of its own, so that a
 * supervisor does not restart svc in a loop.
 */
export const exitCode = { fine: 0, failed: 1, usage: 2, config: 78 } as const;
