/** Programs that this process may run. */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Whether the file exists, and this user may run it. */
export function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether the search path has a program of this name. Relative folders do not count. */
export function isOnPath(program: string, { PATH = '' }: { readonly PATH?: string }): boolean {
  const folders = PATH.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.some((folder) => canRun(join(folder, program)));
}
