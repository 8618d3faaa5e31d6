/** The reader of the PostgreSQL form. It never writes, and waits for no writer. */
import type { Client } from 'pg';
import { readerOver } from '../../read/questions.ts';
import type { LedgerReader } from '../../ledger.ts';
import { PeopleConnection, type ReaderLimits } from './people-connection.ts';
import { questions } from './reads.ts';

/**
 * Reads beside the service that runs on a database, in it, or while none does.
 * @param connect opens a connection; it is called when something is asked, and again when that
 *   connection is lost
 */
export function createPostgresReader(
  connect: () => Promise<Client>,
  limits: Partial<ReaderLimits> = {},
): LedgerReader {
  const people = new PeopleConnection(connect, limits);
  return readerOver(
    (question, asked) => people.read((ask) => questions[question](ask, ...asked)),
    () => people.close(),
  );
}
