/** The release that is tried, which `npm run try-release` has made and names. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Absolute. */
export const releaseFolder = folder();

function folder(): string {
  const named = process.env['SVC_RELEASE'];
  assert.ok(named, 'SVC_RELEASE names no release; npm run try-release makes one');
  return named;
}

/** @returns a file or a folder of the release, absolute; `null`: this machine could not make it */
export function made(name: string): string | null {
  const path = join(releaseFolder, name);
  return existsSync(path) ? path : null;
}
