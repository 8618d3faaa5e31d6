/** Sets modes and times that do not depend on the maker and the time of a build. */
import { chmodSync, lutimesSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Lets everyone read all of a folder and run what its owner may run; the owner may write. */
export function setPlainModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const isOpen = entry.isDirectory() || (statSync(path).mode & 0o100) !== 0;
    chmodSync(path, isOpen ? 0o755 : 0o644);
  }
}

/** Sets the modification time of the folder and all its entries, links included. */
export function setTimes(folder: string, epochS: number): void {
  const below = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const name of ['', ...below]) lutimesSync(join(folder, name), epochS, epochS);
}
