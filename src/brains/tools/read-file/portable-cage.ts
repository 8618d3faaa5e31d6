/**
 * The cage where no handle of a folder can be walked through. Every part is looked at before and
 * after the file is opened. All parts must be the same then, none may be a link, and the last must
 * be the open file. A process that swaps folders at the right moment each time may still get past
 * it: the window is narrow, not closed.
 */
import type { BigIntStats } from 'node:fs';
import { lstat, open, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  fileFlags,
  kindFault,
  linkMet,
  movedAway,
  openFault,
  rootMoved,
  type NotOpened,
  type Opened,
} from './cage.ts';

/** An attacker has to deceive each of these looks. */
const looksAfter = 3;

export async function openByComparing(root: string, parts: readonly string[]): Promise<Opened> {
  let file: FileHandle | null = null;
  try {
    if ((await realpath(root)) !== root) return rootMoved;
    const before = await look(root, parts);
    if ('kind' in before) return before;
    const fault = kindFault(before.at(-1)!);
    if (fault !== null) return fault;
    file = await open(join(root, ...parts), fileFlags);
    const stats = await file.stat({ bigint: true });
    const last = kindFault(stats);
    if (last !== null) return last;
    for (let count = 0; count < looksAfter; count++) {
      const after = await look(root, parts);
      if ('kind' in after || !sameOnes(before, after)) return movedAway;
      if (!isSame(stats, after.at(-1)!)) return movedAway;
    }
    const opened = { kind: 'opened', file, size: Number(stats.size) } as const;
    file = null;
    return opened;
  } catch (error) {
    return openFault(error);
  } finally {
    await file?.close();
  }
}

/** Every part as it is now, the root among them. */
async function look(
  root: string,
  parts: readonly string[],
): Promise<readonly BigIntStats[] | NotOpened> {
  const seen = [await lstat(root, { bigint: true })];
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    const stats = await lstat(path, { bigint: true });
    if (stats.isSymbolicLink()) return linkMet;
    seen.push(stats);
  }
  return seen;
}

function sameOnes(before: readonly BigIntStats[], after: readonly BigIntStats[]): boolean {
  return before.every((stats, index) => isSame(stats, after[index]!));
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
