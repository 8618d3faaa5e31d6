/** Why a read has no answer, as a sentence for a person. */
import { ReadFailed } from '../../ledger.ts';
import { codeOf, faultOf } from '../server/errors.ts';

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
  if (code === canceled) return tooSlow(readMs);
  if (faultOf(error) === 'away') return lostConnection;
  const why = code === '' ? '' : ` (${code})`;
  return new ReadFailed('storage', `The PostgreSQL server could not answer${why}.`);
}

/** A statement that took too long, by the server's own clock. */
const canceled = '57014';
