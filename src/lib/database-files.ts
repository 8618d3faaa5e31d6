/**
 * The files of a database, which nobody but SQLite may open in the process that has it open:
 * closing one of them lets go of the locks that SQLite holds.
 * Source: https://www.sqlite.org/howtocorrupt.html, section 2.2.
 */
import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

const suffixes = ['', '-wal', '-shm', '-journal', '.lock', '.lock-journal'];

/** Whether it is one of the files of that database, under whatever name. */
export async function isFileOf(
  database: string,
  { dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>,
): Promise<boolean> {
  const files = await Promise.all(
    suffixes.map((suffix) => stat(`${database}${suffix}`, { bigint: true }).catch(() => null)),
  );
  return files.some((file) => file?.dev === dev && file.ino === ino);
}
