/** The place of the database. */
import { access, constants, open, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isInPlace } from '../../lib/exists.ts';
import { isFileOf } from '../../lib/database-files.ts';
import { failed, ok, type PreflightLine } from './lines.ts';

/**
 * Asks whether a database could be opened or made here, and makes nothing.
 * @param held the database that this process has open: none of its files is opened, since closing
 *   one lets go of the locks that SQLite has on it
 */
export async function storageLine(path: string, held: string | null): Promise<PreflightLine> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  if (found !== null && held !== null && (await isFileOf(held, found))) {
    return ok(path, 'is in use by this service');
  }
  const remedy = 'Choose another storage.path, or give this user the right to write there.';
  if (found === null) return placeLine(path, dirname(path), remedy);
  if (!found.isFile()) return failed(path, 'is no file', remedy);
  if (!(await mayWrite(path))) return failed(path, 'cannot be written', remedy);
  if (!(await mayWrite(dirname(path)))) {
    return failed(path, 'stands in a folder that cannot be written', remedy);
  }
  if (!(await isDatabase(path))) return failed(path, 'is no SQLite file', 'Name another file.');
  return ok(path, 'can be written');
}

/** The nearest folder above that exists decides. */
async function placeLine(path: string, folder: string, remedy: string): Promise<PreflightLine> {
  const found = await stat(folder).catch(() => null);
  const isMissing = found === null && !isInPlace(folder) && dirname(folder) !== folder;
  if (isMissing) return placeLine(path, dirname(folder), remedy);
  if (found?.isDirectory() !== true) return failed(path, `${folder} is no folder`, remedy);
  if (!(await mayWrite(folder))) return failed(path, `${folder} cannot be written`, remedy);
  if (await keepsNoFiles(folder)) return failed(path, `no file can be made in ${folder}`, remedy);
  return ok(path, 'is not there yet and can be made');
}

/** The views that a system gives of itself, /proc and /sys, have no block: nothing can be made. */
async function keepsNoFiles(folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  return found?.blocks === 0 && found.files === 0;
}

function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** An empty file is a database that nothing was written to. Format: sqlite.org/fileformat.html */
async function isDatabase(path: string): Promise<boolean> {
  await using file = await open(path, 'r');
  const head = Buffer.alloc(16);
  const { bytesRead } = await file.read(head, 0, 16, 0);
  return bytesRead === 0 || head.toString('latin1') === 'SQLite format 3\0';
}
