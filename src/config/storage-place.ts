/** The place of the ledger, from the configuration. It holds no secret. */
import type { EnvName, SecretFault } from './secret-value.ts';

export type StoragePlace =
  /** An SQLite file. The path is absolute, and the file may not exist yet. */
  | { readonly kind: 'file'; readonly path: string }
  /** A PostgreSQL server. The variable has its URL, which is a secret. */
  | { readonly kind: 'server'; readonly urlEnv: EnvName };

/** @returns the file's path; null when there is no storage, or it is a server */
export function pathOfFile(place: StoragePlace | null): string | null {
  return place?.kind === 'file' ? place.path : null;
}

// The URL of a database server. No message repeats any part of it.

/** The form of the URL, for messages. */
export const databaseUrlForm = 'postgres://user:password@host:5432/database';

/** Checks only the scheme; the connection parses the rest. @returns null: it can be a URL */
export function faultOfDatabaseUrl(url: string): SecretFault | null {
  if (/^postgres(?:ql)?:\/\//i.test(url)) return null;
  const remedy = `Set one such as ${databaseUrlForm}.`;
  return { message: 'is no URL of a PostgreSQL server', remedy };
}
