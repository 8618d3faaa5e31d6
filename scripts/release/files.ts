/** Folders that a release is laid out in. */
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** @returns all that is no folder, at any depth: paths from that folder, in order */
export function filesIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((one) => !one.isDirectory())
    .map((one) => relative(folder, join(one.parentPath, one.name)))
    .sort();
}

/** @returns a folder that was not there before, absolute */
export function newFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  return folder;
}

/** @param path below the stage, whose folders are made */
export function writeBelow(stage: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  writeFileSync(join(stage, path), content);
}

/** @param path below the stage, whose folders are made */
export function copyBelow(stage: string, path: string, from: string): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  copyFileSync(from, join(stage, path));
}
