/** A stand-in with the surface of the PostgreSQL form's reader; to be replaced. */
import type { Client } from 'pg';
import { ReadFailed, type LedgerReader } from '../../store.ts';

/** @param connect is called when something is asked, and again when that connection is lost */
export function createPostgresReader(connect: () => Promise<Client>): LedgerReader {
  const fail = async (): Promise<never> => {
    await connect();
    throw new ReadFailed('storage', 'There is no reader yet.');
  };
  return new Proxy({} as LedgerReader, {
    get: (_of, name) => {
      if (name === 'then') return undefined;
      return name === Symbol.asyncDispose ? async () => {} : fail;
    },
  });
}
