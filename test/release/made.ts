/** The release under test, which `npm run try-release` makes and names. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { notMadeIn, type NotMade } from '../../scripts/release/not-made.ts';

/** Returns an absolute path. */
export function releaseFolder(): string {
  const named = process.env['SVC_RELEASE'];
  assert.ok(named, 'SVC_RELEASE names no release; npm run try-release makes one');
  return named;
}

/**
 * Parts that this machine could not make. For a release from elsewhere, pass the lines of its
 * output: `SVC_NOT_MADE="image: not made. There is no buildah."`
 */
export const notMade: NotMade = notMadeIn(process.env['SVC_NOT_MADE'] ?? '');

export type Made = {
  /** A file or a folder, absolute. */
  readonly path: string;
  /** Why no test can use it; false: it is there. */
  readonly skip: string | false;
};

/**
 * Finds a file of a part.
 * @throws where it is missing without a reported reason: the release is incomplete
 */
export function made(part: string, name: string): Made {
  return look({ folder: releaseFolder(), notMade }, part, name);
}

type Release = { readonly folder: string; readonly notMade: NotMade };

export function look({ folder, notMade: said }: Release, part: string, name: string): Made {
  const path = join(folder, name);
  if (existsSync(path)) return { path, skip: false };
  const why = said.get(part);
  assert.ok(why !== undefined, `the release has no ${name}, and did not say that it would not`);
  return { path, skip: `NOT TRIED: ${part}. ${why}` };
}
