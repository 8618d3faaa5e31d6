/** Makes a folder, and those above it, one level at a time. */
import { existsSync, mkdirSync, statSync, lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Node's own recursive mkdir never ends, deaf to signals, where the system answers ENOENT below
 * something that is there: in /proc, or below a link to nowhere. Others had the same fault
 * (oven-sh/bun#40600, nodejs/node#27198). Here each level is tried twice at most.
 * @param mode of each folder that is made; one that is there keeps its own
 * @throws what the system says
 */
export function makeFolderSync(folder: string, mode = 0o777): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (isFolder(folder)) return;
    if (!mayLackParent(folder, error)) throw error;
    // Another process may have made it meanwhile.
    if (!existsSync(dirname(folder))) makeFolderSync(dirname(folder), mode);
    makeLast(folder, mode);
  }
}

/** The same, without holding up anything else. */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (isFolder(folder)) return;
    if (!mayLackParent(folder, error)) throw error;
    if (!existsSync(dirname(folder))) await makeFolder(dirname(folder), mode);
    makeLast(folder, mode);
  }
}

/** Its parent is there now. Another process may be quicker. */
function makeLast(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function mayLackParent(folder: string, error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder;
}

// Whether anything has a path.

/** A link to nowhere and what cannot be looked at are there: reading it says what is wrong. */
export function isInPlace(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}
