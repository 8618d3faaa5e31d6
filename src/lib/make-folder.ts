/** Makes a folder and its missing parents, one level at a time; and whether a path exists. */
import { existsSync, mkdirSync, statSync, lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Node's own recursive mkdir never ends, and ignores signals, if the system answers ENOENT below an
 * existing path: in /proc, or below a broken link. Other programs had the same fault
 * (oven-sh/bun#40600, nodejs/node#27198). This function tries each level at most twice.
 * @param mode of each folder that is made; an existing folder keeps its own
 * @throws the error of the system
 */
export function makeFolderSync(folder: string, mode = 0o777): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (isFolder(folder)) return;
    if (!mayLackParent(folder, error)) throw error;
    // Another process may have made it meanwhile.
    if (!existsSync(dirname(folder))) makeFolderSync(dirname(folder), mode);
    makeWithParent(folder, mode);
  }
}

/** The asynchronous form of `makeFolderSync`. */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (isFolder(folder)) return;
    if (!mayLackParent(folder, error)) throw error;
    if (!existsSync(dirname(folder))) await makeFolder(dirname(folder), mode);
    makeWithParent(folder, mode);
  }
}

/** Makes a folder whose parent exists. Another process may be faster. */
function makeWithParent(folder: string, mode: number): void {
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

/**
 * Whether the path exists. A broken link and a path that svc cannot look at exist too: reading it
 * then reports the problem.
 */
export function pathExists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}
