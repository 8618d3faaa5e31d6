/** Missing parts of a release: by a reported reason, or by a fault. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { notMadeIn, notMadeLine } from '../../scripts/release/not-made.ts';
import { scratch } from '../support/program.ts';
import { look } from './made.ts';

test('what could not be made is not tried, and what is not there is a fault', async () => {
  await using place = await scratch();
  writeFileSync(join(place.path, 'a.tgz'), '');
  const said = ['a.tgz: 0.1 MB', notMadeLine('image', 'There is no a: install it.'), 'b: 1 MB'];
  const release = { folder: place.path, notMade: notMadeIn(said.join('\n')) };
  assert.deepEqual(look(release, 'npm', 'a.tgz'), {
    path: join(place.path, 'a.tgz'),
    skip: false,
  });
  const skip = 'NOT TRIED: image. There is no a: install it.';
  assert.deepEqual(look(release, 'image', 'b.tar'), { path: join(place.path, 'b.tar'), skip });
  assert.throws(() => look(release, 'deb', 'c.deb'), /^AssertionError.*the release has no c\.deb/);
});
