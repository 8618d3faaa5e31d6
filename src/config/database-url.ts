/** The URL of a database server, of which no sentence repeats anything. */
import type { SecretFault } from '../channels/kind.ts';

/** As a person writes it. */
export const databaseUrlForm = 'postgres://user:password@host:5432/database';

/** Whether it can be one at all; who connects reads it whole. */
export function faultOfDatabaseUrl(url: string): SecretFault | null {
  if (/^postgres(?:ql)?:\/\//i.test(url)) return null;
  const remedy = `Set one such as ${databaseUrlForm}.`;
  return { message: 'is no URL of a PostgreSQL server', remedy };
}
