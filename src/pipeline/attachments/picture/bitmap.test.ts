import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orient } from './picture-thread.ts';
import type { Orientation } from './size.ts';

/** As the Exif standard shows it: the visible picture has two columns and three rows. */
const shown = ['ab', 'cd', 'ef'];
/** How such a picture is stored in its file. */
const lying: Readonly<Record<Orientation, readonly string[]>> = {
  1: ['ab', 'cd', 'ef'],
  2: ['ba', 'dc', 'fe'],
  3: ['fe', 'dc', 'ba'],
  4: ['ef', 'cd', 'ab'],
  5: ['ace', 'bdf'],
  6: ['bdf', 'ace'],
  7: ['fdb', 'eca'],
  8: ['eca', 'fdb'],
};

for (const [orientation, rows] of Object.entries(lying)) {
  test(`orientation ${orientation} is turned to what is to be seen`, () => {
    const [width, height] = [rows[0]!.length, rows.length];
    const data = Uint8Array.from(
      rows
        .join('')
        .split('')
        .flatMap((name) => [name.charCodeAt(0), 0, 0, 255]),
    );
    const made = orient({ width, height, data }, Number(orientation) as Orientation);
    const names = Array.from({ length: 6 }, (_, at) => String.fromCharCode(made.data[at * 4]!));
    assert.deepEqual([made.width, made.height], [2, 3]);
    assert.equal(names.join(''), shown.join(''));
  });
}
