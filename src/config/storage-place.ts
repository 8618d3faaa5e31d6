/** Where a ledger is kept, as a configuration says it. Nothing of it is a secret. */
import type { EnvName } from './config.ts';

export type StoragePlace =
  /** An SQLite file; absolute. It may not be there yet. */
  | { readonly kind: 'file'; readonly path: string }
  /** A PostgreSQL server, by the variable with its URL, which is a secret. */
  | { readonly kind: 'server'; readonly urlEnv: EnvName };

/** The file's path; null: there is no storage, or it is a server. */
export function pathOfFile(place: StoragePlace | null): string | null {
  return place?.kind === 'file' ? place.path : null;
}
