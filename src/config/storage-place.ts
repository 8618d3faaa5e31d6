/** Where a ledger is kept, as a configuration says it. Nothing of it is a secret. */
import type { EnvName, SecretFault } from './secret-value.ts';

export type StoragePlace =
  /** An SQLite file; absolute. It may not be there yet. */
  | { readonly kind: 'file'; readonly path: string }
  /** A PostgreSQL server, by the variable with its URL, which is a secret. */
  | { readonly kind: 'server'; readonly urlEnv: EnvName };

/** The file's path; null: there is no storage, or it is a server. */
export function pathOfFile(place: StoragePlace | null): string | null {
  return place?.kind === 'file' ? place.path : null;
}

// The URL of a database server, of which no sentence repeats anything.

/** As a person writes it. */
export const databaseUrlForm = 'postgres://user:password@host:5432/database';

/** Whether it can be one at all; who connects reads it whole. */
export function faultOfDatabaseUrl(url: string): SecretFault | null {
  if (/^postgres(?:ql)?:\/\//i.test(url)) return null;
  const remedy = `Set one such as ${databaseUrlForm}.`;
  return { message: 'is no URL of a PostgreSQL server', remedy };
}
