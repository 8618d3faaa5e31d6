/**
 * What root makes in the folder of somebody else is theirs from the beginning: a service that runs
 * as its own user can read it then. Only for files that this process has just made: of others
 * nobody knows whose they are to be.
 */
import { fchownSync, statSync } from 'node:fs';

/** @param fd open, of a file in that folder */
export function giveToOwnerOf(folder: string, fd: number): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  if (uid !== 0) fchownSync(fd, uid, gid);
}
