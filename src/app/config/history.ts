/**
 * The earlier texts of a configuration file: one file each in `<file>.history`, named by the time
 * of saving and the revision. Keeps the newest ten, each revision once.
 */
import { readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../lib/make-folder.ts';
import { readConfigText, revisionOf } from '../../config/inspect.ts';
import { syncFolder, writeNew } from './saved-file.ts';

/** `savedAt` is milliseconds since 1970. */
export type KeptConfig = {
  readonly revision: string;
  readonly savedAt: number;
  readonly bytes: number;
};

const keptMax = 10;
const named = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)-([0-9a-f]{12})\.json$/;

type Entry = { readonly name: string; readonly revision: string; readonly savedAt: number };

/** The folder is beside the file that a link leads to, since svc needs to write there anyway. */
export async function historyFolder(file: string): Promise<string> {
  return `${await realpath(file).catch(() => file)}.history`;
}

/** Newest first. */
async function entriesIn(folder: string): Promise<Entry[]> {
  const names = await readdir(folder).catch(noneIfMissing);
  const entries = names.flatMap((name) => {
    const [, hour, minute, second, revision] = named.exec(name) ?? [];
    const savedAt = Date.parse(`${hour}:${minute}:${second}`);
    return revision === undefined || Number.isNaN(savedAt) ? [] : [{ name, revision, savedAt }];
  });
  return entries.sort((a, b) => b.savedAt - a.savedAt || (a.name < b.name ? 1 : -1));
}

function noneIfMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/**
 * Newest first.
 * @throws errors of the file system
 */
export async function listKept(file: string): Promise<readonly KeptConfig[]> {
  const folder = await historyFolder(file);
  const rows: KeptConfig[] = [];
  for (const { name, revision, savedAt } of await entriesIn(folder)) {
    const facts = await stat(join(folder, name)).catch(() => null);
    if (facts !== null) rows.push({ revision, savedAt, bytes: facts.size });
  }
  return rows;
}

/**
 * Reads an earlier text; null: it is not stored, or its content does not match its name.
 * @throws errors of the file system
 */
export async function readKept(
  file: string,
  revision: string,
): Promise<{ readonly text: string; readonly savedAt: number } | null> {
  const folder = await historyFolder(file);
  const entry = (await entriesIn(folder)).find((one) => one.revision === revision);
  if (entry === undefined) return null;
  const read = await readConfigText(join(folder, entry.name), 'file');
  if (read.kind === 'problem' || revisionOf(read.text) !== revision) return null;
  return { text: read.text, savedAt: entry.savedAt };
}

/**
 * Resolves when the text is safe on the disk.
 * @throws errors of the file system
 */
export async function keep(file: string, text: string, savedAt: number): Promise<void> {
  const folder = await historyFolder(file);
  await makeFolder(folder, 0o700);
  const revision = revisionOf(text);
  const time = new Date(savedAt).toISOString().replaceAll(':', '-');
  const name = `${time}-${revision}.json`;
  const part = join(folder, '.new');
  await writeNew(part, text);
  await rename(part, join(folder, name));
  await syncFolder(folder);
  await drop(folder, (entry) => entry.revision === revision && entry.name !== name);
}

/** @param used the revision in use (again), which is not an earlier one */
export async function pruneKept(file: string, used: string): Promise<void> {
  await forgetKept(file, used);
  await drop(await historyFolder(file), (_entry, at) => at >= keptMax);
}

export async function forgetKept(file: string, revision: string): Promise<void> {
  await drop(await historyFolder(file), (entry) => entry.revision === revision);
}

async function drop(folder: string, isOver: (entry: Entry, at: number) => boolean): Promise<void> {
  const over = (await entriesIn(folder)).filter(isOver);
  for (const { name } of over) await rm(join(folder, name), { force: true });
}

/** Explains what prevents the history of a file, and what to do. */
export function historyFault(error: unknown, file: string): string {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  const folder = `${file}.history`;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return (
        `svc may not read and write ${folder} (${code}). Give its user the right to, also in ` +
        'the folder around it.'
      );
    case 'EEXIST':
    case 'ENOTDIR':
      return `${folder} is no folder (${code}). Move it away; svc makes one.`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk of ${folder} is full (${code}). Make room on it.`;
    default:
      return `${folder} cannot be read and written (${code}). Move it away; svc makes one.`;
  }
}
