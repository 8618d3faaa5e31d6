/** Every kind of difference between two releases. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { differences } from '../../scripts/release/compare.ts';
import { scratch } from '../support/program.ts';

/** Longer than one read. */
const long = Buffer.alloc(3_000_000, 'x');

async function stage() {
  const place = await scratch();
  const folders = ['one', 'other'].map((name) => join(place.path, name));
  for (const folder of folders) {
    mkdirSync(join(folder, 'site'), { recursive: true });
    writeFileSync(join(folder, 'svc.deb'), long);
    writeFileSync(join(folder, 'site', 'index.html'), 'page');
  }
  return { ...place, one: folders[0]!, other: folders[1]! };
}

test('two folders that hold the same have no differences', async () => {
  await using place = await stage();
  assert.deepEqual(differences(place.one, place.other), []);
});

test('a changed byte is named with its file and place, and so is one that is missing', async () => {
  await using place = await stage();
  const changed = Buffer.from(long);
  changed[2_999_998] = 0;
  writeFileSync(join(place.other, 'svc.deb'), changed);
  writeFileSync(join(place.other, 'site', 'index.html'), 'pages');
  assert.deepEqual(differences(place.one, place.other), [
    'site/index.html differs from byte 4 on',
    'svc.deb differs from byte 2999998 on',
  ]);
});

test('a name that is in one alone, or is something else there, is a difference', async () => {
  await using place = await stage();
  mkdirSync(join(place.one, 'only'));
  writeFileSync(join(place.other, 'kind'), '');
  symlinkSync('svc.deb', join(place.one, 'kind'));
  assert.deepEqual(differences(place.one, place.other), [
    `kind is a link to svc.deb in ${place.one}, and a file in ${place.other}`,
    `only is only in ${place.one}`,
  ]);
});
