import assert from 'node:assert/strict';
import { test } from 'node:test';
import jpeg from 'jpeg-js';
import { gifOf, jpegOf, pngOf, withExif } from '../../../../test/fake/pictures.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';
import { createDeadlines } from '../../../lib/deadlines.ts';
import { Stopper } from '../../../lib/stop.ts';
import { createPictures, type RemakerLimits } from './remaker.ts';
import type { Remade } from './picture.ts';
import { sizeOf } from './size.ts';

async function remake(bytes: Uint8Array, limits: Partial<RemakerLimits> = {}): Promise<Remade> {
  await using pictures = createPictures(createDeadlines(), { remakeMs: patienceMs, ...limits });
  return await pictures.remake(bytes, 'ann', new Stopper());
}

function seen(remade: Remade) {
  assert.ok(remade.kind === 'remade', remade.kind);
  const { type, bytes } = remade.picture;
  assert.equal(type, 'image/jpeg');
  const { width, height, data } = jpeg.decode(bytes, { useTArray: true });
  const at = (x: number, y: number): readonly number[] =>
    Array.from(data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3));
  return { width, height, bytes, at };
}

const isNear = (one: readonly number[], other: readonly number[]): boolean =>
  one.every((part, index) => Math.abs(part - other[index]!) < 24);

test('a picture comes back as a JPEG of its size', async () => {
  const { width, height, at } = seen(await remake(pngOf(40, 30, [10, 200, 30])));
  assert.deepEqual([width, height], [40, 30]);
  assert.ok(isNear(at(20, 15), [10, 200, 30]), String(at(20, 15)));
});

test('a large one is fitted into 1,568 pixels', async () => {
  const { width, height, at } = seen(await remake(jpegOf(3_136, 200)));
  assert.deepEqual([width, height], [1_568, 100]);
  assert.ok(isNear(at(300, 50), [255, 0, 0]) && isNear(at(1_300, 50), [0, 0, 255]));
});

test('what is not opaque shows white', async () => {
  const { at } = seen(await remake(pngOf(8, 8, [0, 0, 0, 0])));
  assert.ok(isNear(at(4, 4), [255, 255, 255]));
});

test('what was hidden in the file is gone, and it is turned as the file says', async () => {
  const words = 'Berlin 52.5200 N 13.4050 E';
  const file = withExif(jpegOf(64, 32), 6, words);
  assert.ok(Buffer.from(file).includes(words));
  const { width, height, bytes, at } = seen(await remake(file));
  assert.ok(!Buffer.from(bytes).includes('Berlin') && !Buffer.from(bytes).includes('Exif'));
  assert.deepEqual([width, height], [32, 64]);
  assert.ok(isNear(at(16, 8), [255, 0, 0]) && isNear(at(16, 56), [0, 0, 255]));
});

test('what is no picture, or damaged, is told so, and the next one is made', async () => {
  await using pictures = createPictures(createDeadlines(), { remakeMs: patienceMs });
  const cut = jpegOf(64, 64).subarray(0, 60);
  const damaged = Buffer.from(pngOf(64, 64, [1, 2, 3]));
  damaged.fill(7, 50);
  for (const bytes of [Buffer.from('<html>'), new Uint8Array(0), cut, damaged]) {
    assert.equal((await pictures.remake(bytes, 'ann', new Stopper())).kind, 'unknown');
  }
  assert.equal(
    (await pictures.remake(pngOf(4, 4, [1, 2, 3]), 'ann', new Stopper())).kind,
    'remade',
  );
});

test('one that takes too long is given up, and the next one is made', async () => {
  await using pictures = createPictures(createDeadlines(), { remakeMs: 1 });
  assert.equal(
    (await pictures.remake(jpegOf(2_000, 2_000), 'ann', new Stopper())).kind,
    'too_large',
  );
});

test('more than ever waited are made, one after the other', async () => {
  await using pictures = createPictures(createDeadlines(), { remakeMs: patienceMs });
  const made = Array.from({ length: 70 }, () => {
    return pictures.remake(pngOf(4, 4, [1, 2, 3]), 'ann', new Stopper());
  });
  const kinds = new Set((await Promise.all(made)).map(({ kind }) => kind));
  assert.deepEqual([...kinds], ['remade']);
});

test('one that is stopped leaves its place, also while it is made', async () => {
  await using pictures = createPictures(createDeadlines(), { remakeMs: patienceMs });
  const [atWork, waiting, last] = [new Stopper(), new Stopper(), new Stopper()];
  const making = pictures.remake(jpegOf(2_000, 2_000), 'ann', atWork);
  const behind = pictures.remake(jpegOf(2_000, 2_000), 'ann', waiting);
  const next = pictures.remake(pngOf(4, 4, [1, 2, 3]), 'ann', last);
  waiting.stop();
  assert.equal((await behind).kind, 'stopped');
  atWork.stop();
  assert.equal((await making).kind, 'stopped');
  assert.equal((await next).kind, 'remade');
  assert.equal((await pictures.remake(pngOf(4, 4, [1, 2, 3]), 'ann', atWork)).kind, 'stopped');
});

test('what a decoder prints is not printed by svc', async (t) => {
  const printed: unknown[] = [];
  t.mock.method(process.stdout, 'write', (text: unknown) => printed.push(text) > 0);
  const kind = (await remake(gifOf([2, 2], [0, 0, 2, 2]))).kind;
  t.mock.restoreAll();
  assert.equal(kind, 'remade', 'of one that has fewer pixels than it says');
  assert.deepEqual(
    printed.filter((text) => /gif/.test(String(text))),
    [],
  );
});

test('after the end nothing is made any more', async () => {
  const pictures = createPictures(createDeadlines(), { remakeMs: patienceMs });
  const making = pictures.remake(jpegOf(2_000, 2_000), 'ann', new Stopper());
  await pictures[Symbol.asyncDispose]();
  assert.equal((await making).kind, 'stopped');
  assert.equal(
    (await pictures.remake(pngOf(4, 4, [1, 2, 3]), 'ann', new Stopper())).kind,
    'stopped',
  );
});

test('the size is read of every format', () => {
  const side = (bytes: Uint8Array): readonly (number | undefined)[] => {
    const size = sizeOf(bytes);
    return [size?.width, size?.height];
  };
  assert.deepEqual(side(Buffer.from('GIF89a\x20\x01\x10\x00', 'latin1')), [288, 16]);
  assert.deepEqual(side(pngOf(7, 9, [0, 0, 0])), [7, 9]);
  assert.deepEqual(side(withExif(jpegOf(11, 13), 1, 'x')), [11, 13]);
  assert.equal(sizeOf(Buffer.from('RIFF....WEBP')), null);
});

test('one of each who waits is made in turn', async () => {
  await using pictures = createPictures(createDeadlines(), { remakeMs: patienceMs });
  const made: string[] = [];
  const ask = async (whose: string): Promise<void> => {
    await pictures.remake(pngOf(4, 4, [1, 2, 3]), whose, new Stopper());
    made.push(whose);
  };
  await Promise.all(['ann', 'ann', 'ann', 'bob', 'cleo'].map(ask));
  assert.deepEqual(made, ['ann', 'bob', 'ann', 'cleo', 'ann']);
});
