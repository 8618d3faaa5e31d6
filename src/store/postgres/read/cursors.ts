/** A stand-in with the surface of what reads channels' notes; to be replaced. */
import type { Client } from 'pg';
import { ReadFailed } from '../../store.ts';
import type { CursorReader } from '../../sqlite/read/cursors.ts';

/** @param connect as for the reader */
export function createPostgresCursors(connect: () => Promise<Client>): CursorReader {
  return {
    cursor: async () => {
      await connect();
      throw new ReadFailed('storage', 'There is no reader yet.');
    },
    [Symbol.dispose]: () => {},
  };
}
