/**
 * The files of a database. Only SQLite may open them in the process that has the database open:
 * closing one of them releases the locks that SQLite holds. Source:
 * https://www.sqlite.org/howtocorrupt.html, section 2.2.
 */
import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

const suffixes = ['', '-wal', '-shm', '-journal', '.lock', '.lock-journal'];

/** Whether a file is one of the database's files, under any name. */
export async function isFileOf(
  database: string,
  { dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>,
): Promise<boolean> {
  const files = await Promise.all(
    suffixes.map((suffix) => stat(`${database}${suffix}`, { bigint: true }).catch(() => null)),
  );
  return files.some((file) => file?.dev === dev && file.ino === ino);
}
