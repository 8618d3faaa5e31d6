/** Which programs this process may run. */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Whether there is such a file, and this user may run it. */
export function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether a program of that name is in a folder of the search path; relative ones do not count. */
export function isOnPath(program: string, { PATH = '' }: { readonly PATH?: string }): boolean {
  const folders = PATH.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.some((folder) => canRun(join(folder, program)));
}
