/** Decodes and re-encodes pictures, one after the other: the thread of `remaker.ts`. */
import { parentPort } from 'node:worker_threads';
import jpeg from 'jpeg-js';
import { GifReader } from 'omggif';
import { PNG } from 'pngjs';
import {
  orientationOf,
  countedBytesOf,
  inflatedBytesOf,
  nameOf,
  pngHeaderOf,
  type Orientation,
} from './size.ts';
import type { FromPictureThread, ToPictureThread } from './remaker.ts';
import { inflateSync } from 'node:zlib';

// Reduces a JPEG to the segments that the decoder needs: tables, frame and scans, and nothing else
// that the decoder would take for a scan. A scan covers the whole picture, however few bytes it
// has. So a small file with many scans takes minutes. The scans are counted before anything is
// decoded. Pure. Format: ITU T.81, B.2.

/** No tool of libjpeg writes more scans; a camera writes one, an editor about ten. */
const scansMax = 100;
/** For one component: each full pass has 64 coefficients; editors make three passes. */
const coefficientsMax = 8 * 64;
const componentsMax = 4;

const marker = {
  restarts: [0xd0, 0xd7],
  end: 0xd9,
  scan: 0xda,
  quantization: 0xdb,
  huffman: 0xc4,
  frames: [0xc0, 0xc1, 0xc2],
  progressive: 0xc2,
  interval: 0xdd,
  adobe: 0xee,
} as const;

/**
 * @returns the same picture
 * @throws if it breaks the format, or its scans cover the picture too often
 */
function checkedJpeg(bytes: Buffer): Buffer {
  const kept = [bytes.subarray(0, 2)];
  const scans = new Scans();
  for (let at = markerFrom(bytes, 2); bytes[at + 1] !== marker.end; at = markerFrom(bytes, at)) {
    const name = bytes[at + 1]!;
    const from = at + 4;
    const segment = bytes.subarray(from, at + 2 + bytes.readUInt16BE(at + 2));
    const start = at;
    at = from + segment.length;
    if (name === marker.scan) {
      scans.add(segment);
      at = endOfScan(bytes, at);
    }
    if (isNeeded(name, segment, scans)) kept.push(bytes.subarray(start, at));
  }
  return Buffer.concat([...kept, Buffer.from([0xff, marker.end])]);
}

/** Some encoders count the first byte of a marker as part of the segment before it. */
function markerFrom(bytes: Buffer, from: number): number {
  let at = bytes[from] !== 0xff && bytes[from - 1] === 0xff ? from - 1 : from;
  while (bytes[at] === 0xff && bytes[at + 1] === 0xff) at += 1;
  if (bytes[at] !== 0xff || at + 1 >= bytes.length) throw new Error('no marker');
  return at;
}

/** Whether the decoder needs the segment. */
function isNeeded(name: number, segment: Buffer, scans: Scans): boolean {
  switch (name) {
    case marker.scan:
      return true;
    case marker.quantization:
      return holdsTables(segment, (at) => 1 + 64 * (segment[at]! >> 4 === 0 ? 1 : 2));
    case marker.huffman:
      return holdsTables(segment, (at) => 17 + sum(segment.subarray(at + 1, at + 17)));
    case marker.interval:
      return checkLength(2, segment);
    case marker.adobe:
      return segment.length <= 64;
    default:
      if (!marker.frames.some((frame) => frame === name)) return false;
      scans.begin(segment, name === marker.progressive);
      return true;
  }
}

/** Checks a length, so that a decoder that ignores the length field ends in the same place. */
function checkLength(length: number, segment: Buffer): boolean {
  if (segment.length !== length) throw new Error('a segment of another length');
  return true;
}

function holdsTables(segment: Buffer, lengthAt: (at: number) => number): boolean {
  let at = 0;
  while (at < segment.length) at += lengthAt(at);
  return checkLength(at, segment);
}

const sum = (all: Uint8Array): number => all.reduce((total, one) => total + one, 0);

/** Inside a scan only `00` and restart markers may follow `ff`. */
function endOfScan(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 2)) {
    const next = bytes[at + 1]!;
    const [first, last] = marker.restarts;
    if (next !== 0 && !(next >= first && next <= last)) return at;
  }
  throw new Error('a scan without an end');
}

class Scans {
  #isProgressive: boolean | null = null;
  #count = 0;
  readonly #coefficients = new Map<number, number>();

  begin(frame: Buffer, isProgressive: boolean): void {
    const components = frame[5] ?? 0;
    if (components > componentsMax || this.#isProgressive !== null) throw new Error('frames');
    checkLength(6 + 3 * components, frame);
    this.#isProgressive = isProgressive;
  }

  add(scan: Buffer): void {
    const components = scan[0] ?? 0;
    checkLength(4 + 2 * components, scan);
    const [first, last] = scan.subarray(-3);
    const coefficients = this.#isProgressive === true ? Math.max(1, last! - first! + 1) : 64;
    for (let at = 0; at < components; at++) this.#countPass(scan[1 + 2 * at]!, coefficients);
    if (++this.#count > scansMax) throw new Error('too many scans');
  }

  #countPass(component: number, coefficients: number): void {
    const all = (this.#coefficients.get(component) ?? 0) + coefficients;
    if (all > coefficientsMax) throw new Error('too many scans of one component');
    this.#coefficients.set(component, all);
  }
}

/** A picture as pixels: four bytes each, for red, green, blue and opacity. Pure. */
type Bitmap = { readonly width: number; readonly height: number; readonly data: Uint8Array };

/** Scales down until the longer side fits; each new pixel is the mean of the pixels it replaces. */
function scaleDown(bitmap: Bitmap, sideMax: number): Bitmap {
  const scale = sideMax / Math.max(bitmap.width, bitmap.height);
  if (scale >= 1) return bitmap;
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const rows = spanOf(y, height, bitmap.height);
    for (let x = 0; x < width; x++) {
      meanOf(bitmap, spanOf(x, width, bitmap.width), rows, data, (y * width + x) * 4);
    }
  }
  return { width, height, data };
}

type Span = { readonly from: number; readonly to: number };

function spanOf(at: number, count: number, size: number): Span {
  const from = Math.floor((at * size) / count);
  return { from, to: Math.max(from + 1, Math.floor(((at + 1) * size) / count)) };
}

function meanOf(bitmap: Bitmap, columns: Span, rows: Span, into: Uint8Array, at: number): void {
  const { width, data } = bitmap;
  let [red, green, blue, opaque] = [0, 0, 0, 0];
  for (let y = rows.from; y < rows.to; y++) {
    const end = (y * width + columns.to) * 4;
    for (let from = (y * width + columns.from) * 4; from < end; from += 4) {
      red += data[from]!;
      green += data[from + 1]!;
      blue += data[from + 2]!;
      opaque += data[from + 3]!;
    }
  }
  const count = (columns.to - columns.from) * (rows.to - rows.from);
  into[at] = red / count;
  into[at + 1] = green / count;
  into[at + 2] = blue / count;
  into[at + 3] = opaque / count;
}

/** The picture on a white background. */
function onWhite({ width, height, data }: Bitmap): Bitmap {
  const flat = Uint8Array.from(data);
  for (let at = 0; at < flat.length; at += 4) {
    const opaque = flat[at + 3]!;
    if (opaque === 255) continue;
    for (let part = at; part < at + 3; part++) {
      flat[part] = (flat[part]! * opaque + 255 * (255 - opaque)) / 255;
    }
    flat[at + 3] = 255;
  }
  return { width, height, data: flat };
}

/** The picture as a person should see it. */
export function orient(bitmap: Bitmap, orientation: Orientation): Bitmap {
  if (orientation === 1) return bitmap;
  const isSwapped = orientation >= 5;
  const { width: from, height: lines } = bitmap;
  const [width, height] = isSwapped ? [lines, from] : [from, lines];
  const source = new Uint32Array(bitmap.data.slice().buffer);
  const target = new Uint32Array(width * height);
  const isMirrored = [2, 4, 5, 7].includes(orientation);
  const turns = [0, 0, 0, 2, 2, 1, 1, 3, 3][orientation]!;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      // Mirrored first in the result, so that only quarter turns remain.
      const column = isMirrored ? width - 1 - x : x;
      target[y * width + x] = source[placeOf(column, y, turns, from, lines)]!;
    }
  }
  return { width, height, data: new Uint8Array(target.buffer) };
}

/** The index of the source pixel, after so many quarter turns clockwise. */
function placeOf(x: number, y: number, turns: number, width: number, height: number): number {
  switch (turns) {
    case 1:
      return (height - 1 - x) * width + y;
    case 2:
      return (height - 1 - y) * width + (width - 1 - x);
    case 3:
      return x * width + (width - 1 - y);
    default:
      return y * width + x;
  }
}

/**
 * Checks that a PNG holds no more data than its header says. The decoder believes the last header,
 * and inflates interlaced data without a limit. Pure. Only for the picture thread: loading
 * `node:zlib` would delay the program's start by milliseconds.
 *
 * Format: W3C PNG, 5.3 (chunks). An animated PNG has its first picture where a plain one has its
 * only one; the decoder skips the other chunks.
 */
const paletteBytesMax = 3 * 256;
const onceOnly: ReadonlySet<number> = new Set(['IHDR', 'PLTE', 'tRNS', 'gAMA'].map(nameOf));

/** @throws if a chunk stands twice that may not, or the data is more than the header says */
export function checkPng(bytes: Buffer): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = pngHeaderOf(view);
  if (header === null) throw new Error('no header');
  const data: Buffer[] = [];
  const seen = new Set<number>();
  for (let at = 8; at + 12 <= bytes.length;) {
    const [length, name] = [view.getUint32(at), view.getUint32(at + 4)];
    if (name === nameOf('IDAT')) data.push(bytes.subarray(at + 8, at + 8 + length));
    else if (onceOnly.has(name) && seen.has(name)) throw new Error('a chunk that stands twice');
    else if (name === nameOf('PLTE') && length > paletteBytesMax) throw new Error('many colours');
    seen.add(name);
    at += 12 + length;
  }
  // The decoder itself limits data that is not interlaced.
  if (!header.isInterlaced) return;
  const bound = inflatedBytesOf(header);
  inflateSync(Buffer.concat(data), { maxOutputLength: bound, chunkSize: Math.max(64, bound + 1) });
}

/**
 * Checks that each code of a GIF frame refers to earlier data: the decoder would follow any other
 * code in an endless circle. Pure.
 *
 * Format: GIF 89a, 22 and appendix F.
 */

const codeBitsMax = 12;
const rootBitsMax = 8;

/**
 * @param from where the data of the frame begins
 * @throws if a code refers to nothing yet
 */
function checkGifCodes(bytes: Uint8Array, from: number): void {
  const rootBits = bytes[from]!;
  if (!(rootBits >= 1 && rootBits <= rootBitsMax)) throw new Error('no such codes');
  const clear = 1 << rootBits;
  const end = clear + 1;
  let [codeBits, known, isFirst] = [rootBits + 1, end + 1, true];
  let [held, heldBits] = [0, 0];
  for (const byte of dataOf(bytes, from + 1)) {
    held |= byte << heldBits;
    heldBits += 8;
    while (heldBits >= codeBits) {
      const code = held & ((1 << codeBits) - 1);
      held >>>= codeBits;
      heldBits -= codeBits;
      if (code === end) return;
      if (code === clear) {
        [codeBits, known, isFirst] = [rootBits + 1, end + 1, true];
        continue;
      }
      // The code that this very code defines is the first one that it may not be.
      if (code > known || (code === known && (isFirst || known === 1 << codeBitsMax))) {
        throw new Error('a code for nothing');
      }
      if (!isFirst && known < 1 << codeBitsMax) known += 1;
      if (known === 1 << codeBits && codeBits < codeBitsMax) codeBits += 1;
      isFirst = false;
    }
  }
}

function* dataOf(bytes: Uint8Array, from: number): Generator<number> {
  for (let at = from, size = bytes[at] ?? 0; size > 0; at += 1 + size, size = bytes[at] ?? 0) {
    yield* bytes.subarray(at + 1, at + 1 + size);
  }
}

/** Models use no more pixels on the longer side. */
const pictureThreadSideMax = 1_568;
const quality = 85;

/** The picture is turned as its file says; all other metadata is lost. */
function remake(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const oriented = orient(scaleDown(decode(bytes), pictureThreadSideMax), orientationIn(bytes));
  const { data } = jpeg.encode(onWhite(oriented), quality);
  return new Uint8Array(data);
}

const jpegStart = 0xff;
const pngStart = 0x89;

/** @throws if it is no such picture, is damaged, or holds more than its header says */
function decode(bytes: Buffer): Bitmap {
  const [first = 0] = bytes;
  switch (first) {
    case jpegStart: {
      const maxMemoryUsageInMB = countedBytesOf(bytes) / 1024 / 1024;
      const limits = { maxMemoryUsageInMB, maxResolutionInMP: Infinity } as const;
      return jpeg.decode(checkedJpeg(bytes), {
        useTArray: true,
        tolerantDecoding: true,
        ...limits,
      });
    }
    case pngStart:
      checkPng(bytes);
      return PNG.sync.read(bytes);
    default:
      return firstFrameOf(bytes);
  }
}

/** Formats other than JPEG are stored the way they should be seen. */
function orientationIn(bytes: Buffer): Orientation {
  return bytes[0] === jpegStart ? orientationOf(bytes) : 1;
}

/** Refuses a frame that leaves the screen: the decoder allocates the whole frame. */
function firstFrameOf(bytes: Buffer): Bitmap {
  const gif = new GifReader(bytes);
  const frame = gif.frameInfo(0);
  if (frame.x + frame.width > gif.width || frame.y + frame.height > gif.height) {
    throw new Error('a frame beside the screen');
  }
  checkGifCodes(bytes, frame.data_offset);
  const data = new Uint8Array(gif.width * gif.height * 4);
  gif.decodeAndBlitFrameRGBA(0, data);
  return { width: gif.width, height: gif.height, data };
}

/** The decoder's prints must not reach svc's output. */
console.log = () => {};

const port = parentPort;
port?.on('message', ({ bytes }: ToPictureThread) => {
  let made: Uint8Array<ArrayBuffer> | null = null;
  try {
    made = remake(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch {
    // Damaged, or no such picture after all.
  }
  port.postMessage({ made } satisfies FromPictureThread, made === null ? [] : [made.buffer]);
});
