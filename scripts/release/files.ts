/** Helpers for the folders of a release. */
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** @returns all files and links at any depth: paths relative to the folder, in order */
export function filesIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((one) => !one.isDirectory())
    .map((one) => relative(folder, join(one.parentPath, one.name)))
    .sort();
}

/** @returns the new folder, absolute; fails if it exists */
export function newFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  return folder;
}

/** Writes a file and makes its folders. @param path relative to the stage */
export function writeBelow(stage: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  writeFileSync(join(stage, path), content);
}

/** Copies a file and makes its folders. @param path relative to the stage */
export function copyBelow(stage: string, path: string, from: string): void {
  mkdirSync(dirname(join(stage, path)), { recursive: true });
  copyFileSync(from, join(stage, path));
}
