/** Whether anything has a path. */
import { lstatSync } from 'node:fs';

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
