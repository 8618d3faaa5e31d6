/** Reads the cursors of channels, on a read-only connection. */
import type { StoreProblem } from '../../ledger.ts';
import type { CursorReader } from '../../read/questions.ts';
import { openForReading } from './reader.ts';

/** @param path absolute */
export function openCursors(path: string): CursorReader | StoreProblem {
  const db = openForReading(path);
  if ('kind' in db) return db;
  const cursor = db.prepare('SELECT value FROM cursors WHERE channel = ? AND name = ?');
  return {
    cursor: async (channel, name) => {
      const value = cursor.get(channel, name)?.['value'];
      return typeof value === 'string' ? value : null;
    },
    [Symbol.dispose]: () => db.close(),
  };
}
