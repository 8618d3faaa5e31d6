/** A stand-in with the surface of a look at a server; to be replaced. */
import type { StoreProblem } from '../../problem.ts';
import { readAddress } from './address.ts';

/** What a look at a server tells. It changes nothing, and holds up nobody. */
export type ServerLook = {
  readonly kind: 'looked';
  /** Which of the URL's hosts answered, for people: `db.example:5432`. */
  readonly host: string;
  /** As the server says it: `15.6`. */
  readonly version: string;
  /** Whether it is new enough for svc. */
  readonly isKnown: boolean;
  /** The protocol of the connection, `TLSv1.3`; null: it is not encrypted. */
  readonly tls: string | null;
  /** Sentences about what the URL gives up, of which none repeats a secret. */
  readonly warnings: readonly string[];
  /** `UTF8`, as it has to be. */
  readonly encoding: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  /** `on`, `off`, `local`, `remote_write`, `remote_apply`. */
  readonly synchronousCommit: string;
  /** Standbys that a commit waits for now; null: this user may not see them. */
  readonly synchronousStandbys: number | null;
  /** What the user lacks, as the end of a sentence: `may not make a schema`; null: nothing. */
  readonly lacking: string | null;
  /** Of the whole database. */
  readonly bytes: number;
  /** The version of svc's tables; null: none were made yet. */
  readonly schema: number | null;
  /** They are older than this program's by so many steps; below 0: newer. */
  readonly stepsBehind: number;
  /** A svc that runs on the database now; null: none. */
  readonly owner: { readonly version: string; readonly beatAgoMs: number } | null;
  /** When the newest message was accepted, milliseconds since 1970; null: there is none. */
  readonly newestAt: number | null;
};

export async function lookAtServer(url: string): Promise<ServerLook | StoreProblem> {
  return notYet(url);
}

/**
 * Why what is kept there cannot be read as it is: the server is away, svc has made no tables there
 * (`storage_missing`), they are older (`storage_older`) or newer (`storage_newer`).
 * @returns null: it can be
 */
export async function schemaProblem(url: string): Promise<StoreProblem | null> {
  return notYet(url);
}

export function notYet(url: string): StoreProblem {
  const address = readAddress(url);
  const message =
    address.kind === 'problems'
      ? address.problems.join(' ')
      : `The ${String(address)} cannot be reached.`;
  return { kind: 'problem', code: 'storage_unreachable', message, isPassing: true };
}
