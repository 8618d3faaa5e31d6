import type { Client } from 'pg';
import type { CursorReader } from '../../read/cursor-reader.ts';
import { fromText } from '../server/text.ts';
import { PeopleConnection } from './people-connection.ts';

const cursor = 'SELECT value FROM svc.cursor WHERE channel = $1 AND name = $2';

/**
 * `cursor` rejects with ReadFailed where the server cannot be asked.
 * @param connect as for the reader
 */
export function createPostgresCursors(connect: () => Promise<Client>): CursorReader {
  const people = new PeopleConnection(connect);
  return {
    cursor: (channel, name) =>
      people.read(async (ask) => {
        const [found] = await ask<{ readonly value: string }>(cursor, channel, name);
        return found === undefined ? null : fromText(found.value);
      }),
    [Symbol.dispose]: () => void people.close(),
  };
}
