/** The release that is tried, which `npm run try-release` has made and names. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { notMadeIn, type NotMade } from '../../scripts/release/not-made.ts';

/** Absolute. */
export function releaseFolder(): string {
  const named = process.env['SVC_RELEASE'];
  assert.ok(named, 'SVC_RELEASE names no release; npm run try-release makes one');
  return named;
}

/**
 * What its maker could not make. Who names a release that was made elsewhere says so, too, with the
 * lines that it has said: `SVC_NOT_MADE="image: not made. There is no buildah."`
 */
export const notMade: NotMade = notMadeIn(process.env['SVC_NOT_MADE'] ?? '');

export type Made = {
  /** Of a file or a folder, absolute. */
  readonly path: string;
  /** Why nothing can be tried with it; false: it is there. */
  readonly skip: string | false;
};

/**
 * Looks for something of a part.
 * @throws where it is not there and its maker has not said so: the release is not whole
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
