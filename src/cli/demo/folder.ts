/** A demo's folder: in the system's place for temporary files, gone when the demo is over. */
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../cli.ts';

const namePattern = /^svc-demo-(\d+)-\w{6}$/;

/**
 * Makes a folder that only this user can read, and removes those of demos that were killed.
 * @param env says by TMPDIR where temporary files belong; else the system does
 */
export function makeDemoFolder(env: Io['env']): string {
  const parent = env['TMPDIR'] || tmpdir();
  for (const name of readdirSync(parent)) {
    const pid = namePattern.exec(name)?.[1];
    if (pid !== undefined && !lives(Number(pid)) && isOurs(join(parent, name))) {
      removeDemoFolder(join(parent, name));
    }
  }
  return mkdtempSync(join(parent, `svc-demo-${process.pid}-`));
}

/** The file that the builder changes: it lasts as long as the demo. @returns its path */
export function writeDemoConfig(folder: string, text: string): string {
  const file = join(folder, 'svc.json');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

export function removeDemoFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isOurs(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}
