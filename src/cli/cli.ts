/**
 * One command of the program. It reads its arguments, does its work through service.ts, and says
 * how it went by an exit code: 0 fine, 1 failed at run time, 2 wrong usage, 78 a problem of the
 * configuration or a secret (so that a supervisor does not restart it in a loop).
 */
import type { Readable, Writable } from 'node:stream';
import type { KeychainLimits } from '../app/keychain.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';

/**
 * The flags of one command, by name. `strings` may be given several times. `values`: what may
 * follow it, for the completion in a shell; left out, nothing is known of it.
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
  /** What it takes besides arguments; `--help` goes without saying. */
  readonly flags: FlagTable;
  /** The words that its first argument is chosen from, or that it is the path of a file. */
  readonly takes?: readonly string[] | 'file';
  /** @returns the exit code */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** What a command may touch of the process. Data goes to stdout, everything else to stderr. */
export type Io = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Where the values of secrets come from, for all that this process does. */
  readonly secrets: ServiceSecrets;
  /** How long the keychain is waited for; left out: as long as it is usual. */
  readonly keychainLimits?: KeychainLimits | undefined;
  /** Aborts at the first SIGINT or SIGTERM, or hang-up that nobody wanted to be told of. */
  readonly stop: AbortSignal;
  /** Aborts when what is in hand is not to be waited for any more. It comes after `stop`. */
  readonly abandon: AbortSignal;
  /** From now on a hang-up of a process without a terminal calls this. */
  readonly onHangUp: (act: () => void) => void;
};

export const exitCode = { fine: 0, failed: 1, usage: 2, config: 78 } as const;
