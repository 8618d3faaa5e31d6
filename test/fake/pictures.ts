/** Picture files for tests, each of one colour or made of four. */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';

type Colour = readonly number[];

/** @param colour red, green, blue and opacity */
export function pngOf(width: number, height: number, colour: Colour): Uint8Array {
  const png = new PNG({ width, height });
  for (let at = 0; at < png.data.length; at += 4) png.data.set([...colour, 255].slice(0, 4), at);
  return PNG.sync.write(png);
}

/** Its left half is red, its right half blue. */
export function jpegOf(width: number, height: number): Uint8Array {
  const data = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    data.set(at % width < width / 2 ? [255, 0, 0, 255] : [0, 0, 255, 255], at * 4);
  }
  return jpeg.encode({ width, height, data }, 95).data;
}

/** The same file with an Exif block that has an orientation and these words. */
export function withExif(file: Uint8Array, orientation: number, words: string): Uint8Array {
  const tiff = Buffer.alloc(26);
  tiff.write('MM\0*', 0, 'latin1');
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(0x0112, 10);
  tiff.writeUInt16BE(3, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  const body = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff, Buffer.from(words)]);
  const head = Buffer.from([0xff, 0xe1, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([file.subarray(0, 2), head, body, file.subarray(2)]);
}

const depth8 = 8;
export const rgba = 6;
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A chunk of a PNG, with its checksum. */
export function chunkOf(name: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

export function headerOf(
  width: number,
  height: number,
  { depth = depth8, colourType = rgba, interlaced = false } = {},
): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([depth, colourType, 0, 0, interlaced ? 1 : 0], 8);
  return chunkOf('IHDR', data);
}

/** A PNG of those chunks, and the chunks that make it whole for a decoder. */
export function pngWith(...chunks: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([pngSignature, ...chunks, chunkOf('IEND')]);
}

/** So many zeros, deflated a thousandfold, as the data of a PNG. */
export function zerosOf(bytes: number): Buffer {
  const mib = 1024 * 1024;
  const piece = deflateRawSync(Buffer.alloc(mib), { finishFlush: constants.Z_FULL_FLUSH });
  const pieces = Array.from({ length: Math.floor(bytes / mib) }, () => piece);
  const end = deflateRawSync(Buffer.alloc(bytes % mib));
  const sum = Buffer.alloc(4);
  sum.writeUInt16BE(bytes % 65_521, 0);
  sum.writeUInt16BE(1, 2);
  return chunkOf('IDAT', Buffer.concat([Buffer.from([0x78, 0x9c]), ...pieces, end, sum]));
}

/** A GIF whose only frame has another size than its screen. */
export function gifOf(
  screen: readonly number[],
  frame: readonly number[],
  data: Uint8Array = Uint8Array.of(0b01_000_100, 0b1),
): Uint8Array {
  const head = Buffer.alloc(13 + 6 + 10);
  head.write('GIF89a', 0, 'latin1');
  for (const [index, side] of screen.entries()) head.writeUInt16LE(side, 6 + index * 2);
  head[10] = 0x80;
  head.set([0xff, 0, 0, 0, 0, 0xff], 13);
  head[19] = 0x2c;
  for (const [index, part] of frame.entries()) head.writeUInt16LE(part, 20 + index * 2);
  // Codes of three bits: clear, the first colour, the end.
  return Buffer.concat([head, Buffer.of(2, data.length), data, Buffer.of(0, 0x3b)]);
}

/** A segment of a JPEG. */
export function segmentOf(marker: number, ...body: readonly number[]): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, Buffer.from(body)]);
}

/**
 * A progressive JPEG, gray all over, of scans that change nothing.
 * @param refined each scan goes over all coefficients, which costs most; else it skips them
 */
export function jpegOfScans(side: number, scans: number, { refined = false } = {}): Buffer {
  const size = [side >> 8, side & 255];
  // One code of one bit each: for AC "so many blocks have no more", for DC "no difference".
  const codes = [1, ...Array<number>(15).fill(0)];
  const runMax = 32_767;
  const blocks = Math.ceil(side / 8) ** 2;
  const bits = `0${'1'.repeat(14)}`.repeat(Math.ceil(blocks / runMax));
  const octets = bits.match(/.{1,8}/g)!.map((octet) => Number.parseInt(octet.padEnd(8, '1'), 2));
  const data = octets.flatMap((octet) => (octet === 0xff ? [octet, 0] : [octet]));
  const header = segmentOf(0xda, 1, 1, 0, 1, 63, refined ? 0x10 : 0);
  const scan = Buffer.concat([header, Buffer.from(data)]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segmentOf(0xdb, 0, ...Array<number>(64).fill(1)),
    segmentOf(0xc2, 8, ...size, ...size, 1, 1, 0x11, 0),
    segmentOf(0xc4, 0x10, ...codes, 0xe0),
    segmentOf(0xc4, 0x00, ...codes, 0x00),
    ...Array<Buffer>(scans).fill(scan),
    Buffer.from([0xff, 0xd9]),
  ]);
}

/** A GIF whose codes form a cycle: an invalid code is followed by one that refers to it. */
export function gifInCircle(): Uint8Array {
  const codes = [
    [4, 3],
    [0, 3],
    [6, 3],
    [0, 3],
    [4, 4],
    [7, 3],
    [0, 3],
    [6, 3],
  ] as const;
  let [bits, count] = [0, 0];
  for (const [code, length] of codes) {
    bits += code * 2 ** count;
    count += length;
  }
  const data = Buffer.alloc(4);
  data.writeUInt32LE(bits);
  return gifOf([10, 10], [0, 0, 10, 10], data);
}
