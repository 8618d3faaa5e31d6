/**
 * The memory and time that a picture may take, whatever its file claims; measured in its own
 * process.
 */
import assert from 'node:assert/strict';
import { deflateSync } from 'node:zlib';
import { test } from 'node:test';
import {
  chunkOf,
  gifInCircle,
  gifOf,
  headerOf,
  jpegOf,
  jpegOfScans,
  pngOf,
  pngWith,
  zerosOf,
} from '../../../../test/fake/pictures.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';
import { createDeadlines } from '../../../lib/deadlines.ts';
import { Stopper } from '../../../lib/stop.ts';
import { checkPng } from './picture-thread.ts';
import { inflatedBytesOf, pngHeaderOf, sizeOf } from './size.ts';
import { createPictures } from './remaker.ts';
import type { Remade } from './picture.ts';

const mib = 1024 * 1024;

/** Also returns how much the memory of the process has grown by then. */
async function measured(bytes: Uint8Array): Promise<{ kind: Remade['kind']; grownMib: number }> {
  await using pictures = createPictures(createDeadlines(), { remakeMs: patienceMs });
  const before = process.resourceUsage().maxRSS;
  const { kind } = await pictures.remake(bytes, 'ann', new Stopper());
  return { kind, grownMib: (process.resourceUsage().maxRSS - before) / 1024 };
}

const interlaced = { interlaced: true };
const small = headerOf(1, 1);
const dot = chunkOf('IDAT', deflateSync(Buffer.alloc(5)));
const many = chunkOf('PLTE', Buffer.alloc(3 * 2_000_000));
const indexed = headerOf(1, 1, { colourType: 3 });
const second = headerOf(4_000, 4_000);
const dataOfSecond = zerosOf(4_000 * (1 + 4 * 4_000));

/** A decoder accepts each file as complete, but it holds more than its header says. */
const bombs: readonly [string, Uint8Array][] = [
  ['interlaced data without end', pngWith(headerOf(1, 1, interlaced), zerosOf(1_024 * mib))],
  ['a second header', pngWith(small, second, dataOfSecond)],
  ['a second header behind the data', pngWith(small, dataOfSecond, second)],
  ['a palette of millions', pngWith(indexed, many, dot)],
  ['a frame larger than its screen', gifOf([1, 1], [0, 0, 30_000, 30_000])],
  ['a frame beside its screen', gifOf([10, 10], [5, 0, 6, 10])],
  ['a second frame of a JPEG', withSecondFrame(jpegOf(16, 16), 4_000)],
];

/** Inserts a second frame before the scan. */
function withSecondFrame(file: Uint8Array, side: number): Uint8Array {
  const bytes = Buffer.from(file);
  const scan = bytes.indexOf(Buffer.from([0xff, 0xda]));
  const frame = Buffer.from(
    bytes.subarray(bytes.indexOf(Buffer.from([0xff, 0xc0]))).subarray(0, 19),
  );
  frame.writeUInt16BE(side, 5);
  frame.writeUInt16BE(side, 7);
  return Buffer.concat([bytes.subarray(0, scan), frame, bytes.subarray(scan)]);
}

/** A PNG with exactly as much data as its header says. */
function plainPng(...header: Parameters<typeof headerOf>): Buffer {
  const alone = pngWith(headerOf(...header));
  const said = pngHeaderOf(new DataView(alone.buffer, alone.byteOffset, alone.byteLength))!;
  return Buffer.from(pngWith(headerOf(...header), zerosOf(inflatedBytesOf(said))));
}

/** Each file is small, and decoding it would take seconds or never end. */
const slow: readonly [string, Uint8Array][] = [
  ['more scans than any tool writes', jpegOfScans(1_000, 101)],
  ['scans that go over all again and again', jpegOfScans(1_000, 9, { refined: true })],
  ['codes of a GIF in a circle', gifInCircle()],
];

for (const [what, bytes] of slow) {
  test(`what costs far more than its size is not decoded: ${what}`, async () => {
    const { kind } = await measured(bytes);
    assert.equal(kind, 'unknown');
  });
}

test('of a JPEG that is scanned as often as may be nothing is lost', async () => {
  for (const bytes of [jpegOfScans(64, 8), jpegOfScans(64, 8, { refined: true })]) {
    assert.equal((await measured(bytes)).kind, 'remade');
  }
});

for (const [what, bytes] of bombs) {
  test(`what holds more than it says is not decoded: ${what}`, async () => {
    const { kind, grownMib } = await measured(bytes);
    assert.equal(kind, 'unknown');
    assert.ok(grownMib < 150, `${Math.round(grownMib)} MiB`);
  });
}

test('as much as it says is made: each kind of PNG, interlaced or not, and a GIF', async () => {
  const kinds = [
    [0, 1],
    [2, 8],
    [4, 16],
    [6, 16],
  ] as const;
  for (const [colourType, depth] of kinds) {
    for (const isInterlaced of [false, true]) {
      const bytes = plainPng(9, 5, { colourType, depth, interlaced: isInterlaced });
      checkPng(bytes);
      assert.equal((await measured(bytes)).kind, 'remade', `${colourType} ${depth}`);
    }
  }
  assert.equal((await measured(gifOf([1, 1], [0, 0, 1, 1]))).kind, 'remade');
});

test('one that says that it takes too much is not even looked at', async () => {
  const deep = { depth: 16 };
  for (const header of [
    headerOf(100_000, 100_000),
    headerOf(4_400, 4_400),
    headerOf(3_000, 3_000, deep),
    headerOf(1, 1_000_000),
  ]) {
    const { kind, grownMib } = await measured(pngWith(header, zerosOf(512 * mib)));
    assert.equal(kind, 'too_large');
    assert.ok(grownMib < 50, `${Math.round(grownMib)} MiB`);
  }
  assert.equal((await measured(gifOf([9_000, 9_000], [0, 0, 1, 1]))).kind, 'too_large');
  // A photo of 12 megapixels has half as many colour samples as these.
  assert.ok(sizeOf(jpegOf(2_700, 2_700))!.heldBytes < 360 * mib);
  assert.equal((await measured(jpegOf(3_000, 3_000))).kind, 'too_large');
});

test('the largest that are decoded take what was reckoned', async () => {
  const largest = [jpegOf(2_700, 2_700), pngOf(4_200, 4_200, [1, 2, 3])];
  for (const bytes of largest) {
    const { kind, grownMib } = await measured(bytes);
    assert.equal(kind, 'remade');
    assert.ok(grownMib < 400, `${Math.round(grownMib)} MiB`);
  }
});
