/** Why a read has no answer, as a sentence for a person. */
import { ReadFailed } from '../../store.ts';

/** The connection ended before the answer came. */
export const lostConnection = new ReadFailed(
  'storage',
  'The connection to the PostgreSQL server was lost; ask again in a moment.',
);

export function stopping(): ReadFailed {
  return new ReadFailed('closed', 'The service is stopping.');
}

export function tooSlow(readMs: number): ReadFailed {
  return new ReadFailed('too_slow', `The read took longer than ${readMs / 1_000} s.`);
}

/** @param error what connecting threw */
export function serverAway(error: unknown): ReadFailed {
  const code = codeOf(error);
  const why = code === '' ? '' : ` (${code})`;
  const message = `The PostgreSQL server cannot be reached${why}; ask again once it can be.`;
  return new ReadFailed('storage', message);
}

/** @param error what a statement threw */
export function readFailure(error: unknown, readMs: number): ReadFailed {
  const code = codeOf(error);
  if (code === statementCanceled) return tooSlow(readMs);
  // The server names its faults by five characters; what has none is of the connection.
  if (!/^[0-9A-Z]{5}$/.test(code) || /^(?:08|57P)/.test(code)) return lostConnection;
  return new ReadFailed('storage', `The PostgreSQL server refused to answer (${code}).`);
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const statementCanceled = '57014';

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
