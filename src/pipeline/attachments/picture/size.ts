/**
 * What the header of a picture says: the orientation of a JPEG, and the size of a JPEG, PNG or GIF.
 * Pure. Format of the orientation: Exif 3.0, 4.6.4.1 (tag 0x0112), in an APP1 segment; TIFF 6.0 for
 * its directory.
 */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** @returns 1, unturned, if the file says nothing that can be read */
export function orientationOf(jpeg: Uint8Array): Orientation {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  try {
    const tiff = tiffStart(view);
    return tiff === null ? 1 : orientationAt(view, tiff);
  } catch {
    // The file ends too early.
    return 1;
  }
}

const app1 = 0xffe1;
const startOfScan = 0xffda;
const exifName = 0x45786966;
const orientationTag = 0x0112;

/** The place where the TIFF header begins. */
function tiffStart(view: DataView): number | null {
  for (let at = 2; at + 10 <= view.byteLength; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint16(at);
    if (marker === startOfScan || marker >>> 8 !== 0xff) return null;
    if (marker === app1 && view.getUint32(at + 4) === exifName) return at + 10;
  }
  return null;
}

function orientationAt(view: DataView, tiff: number): Orientation {
  const little = view.getUint16(tiff) === 0x4949;
  const directory = tiff + view.getUint32(tiff + 4, little);
  const entries = Math.min(view.getUint16(directory, little), 512);
  for (let entry = 0; entry < entries; entry++) {
    const at = directory + 2 + entry * 12;
    if (view.getUint16(at, little) !== orientationTag) continue;
    const value = view.getUint16(at + 8, little);
    return value >= 1 && value <= 8 ? (value as Orientation) : 1;
  }
  return 1;
}

/**
 * The size that a picture's first bytes claim, and the memory that a decoder needs for it. A file
 * of some kilobytes can claim a size that fills all memory, so this is read before anything is
 * decoded.
 *
 * Formats: JPEG (ITU T.81, B.2.2), PNG (W3C, 11.2.2), GIF (89a, 18).
 */

export type PictureSize = {
  readonly width: number;
  readonly height: number;
  /** The most memory that decoding takes, as measured with the decoders in use. */
  readonly heldBytes: number;
};

/** @returns null: none of these formats, or the file ends before it gives the size */
export function sizeOf(bytes: Uint8Array): PictureSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = readSize(view);
    return size !== null && size.width > 0 && size.height > 0 ? size : null;
  } catch {
    // The file ends too early.
    return null;
  }
}

function readSize(view: DataView): PictureSize | null {
  const first = view.getUint32(0);
  if (first === 0x89504e47) return sizeOfPng(view);
  if (first === 0x47494638) return sizeOfGif(view);
  const frame = first >>> 16 === 0xffd8 ? jpegFrameOf(view) : null;
  return frame === null ? null : sizeOfJpeg(frame);
}

/**
 * The decoder makes an object for each row, and holds four copies of the data; the check holds one.
 */
const rowBytes = 512;

function sizeOfPng(view: DataView): PictureSize | null {
  const header = pngHeaderOf(view);
  if (header === null) return null;
  const { width, height, isDeep, isInterlaced, passes } = header;
  const rows = passes.reduce((sum, pass) => sum + pass.height, 0);
  const pixelBytes = isDeep ? 12 : 4;
  const copies = isInterlaced ? 5 : 4;
  const heldBytes = copies * inflatedBytesOf(header) + width * height * pixelBytes;
  return { width, height, heldBytes: heldBytes + rows * rowBytes };
}

function sizeOfGif(view: DataView): PictureSize {
  const [width, height] = [view.getUint16(6, true), view.getUint16(8, true)];
  return { width, height, heldBytes: width * height * 5 };
}

/** A frame of a JPEG. A block is 64 samples of one component. */
type JpegFrame = { readonly width: number; readonly height: number; readonly blocks: number };

/** Memory of one block: its coefficients, which are an object of their own, and its samples. */
const blockBytes = 900;

function sizeOfJpeg({ width, height, blocks }: JpegFrame): PictureSize {
  return { width, height, heldBytes: blocks * blockBytes + width * height * 7 };
}

/** The memory that the decoder counts for a frame: a second frame would not fit. */
export function countedBytesOf(jpeg: Uint8Array): number {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  const frame = jpegFrameOf(view);
  const { width, height, blocks } = frame ?? { width: 0, height: 0, blocks: 0 };
  const tablesBytes = 1024 * 1024;
  return blocks * (256 + 64) + width * height * 8 + tablesBytes;
}

/** Frame markers are C0 to CF, except tables (C4, CC) and the reserved C8. */
function jpegFrameOf(view: DataView): JpegFrame | null {
  for (let at = 2; at + 9 <= view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
    } else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      const [height, width] = [view.getUint16(at + 5), view.getUint16(at + 7)];
      return { height, width, blocks: blocksOf(view, at + 9, width, height) };
    } else {
      at += 2 + view.getUint16(at + 2);
    }
  }
  return null;
}

/** Each component has whole units, and its sampling factors say how many blocks a unit has. */
function blocksOf(view: DataView, at: number, width: number, height: number): number {
  const sampled = Array.from({ length: view.getUint8(at) }, (_, index) => {
    const byte = view.getUint8(at + 2 + index * 3);
    return { across: byte >> 4, down: byte & 15 };
  });
  const across = Math.max(1, ...sampled.map((one) => one.across));
  const down = Math.max(1, ...sampled.map((one) => one.down));
  const units = Math.ceil(width / 8 / across) * Math.ceil(height / 8 / down);
  return sampled.reduce((sum, one) => sum + units * one.across * one.down, 0);
}

/**
 * The header of a PNG.
 *
 * Format: W3C PNG, 11.2.2 (header), 8 (interlacing).
 */

type PngHeader = {
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
  /** Two bytes for each sample. */
  readonly isDeep: boolean;
  readonly isInterlaced: boolean;
  readonly passes: readonly Pass[];
};

/** The size of one pass over the picture; a picture without interlacing has one. */
type Pass = { readonly width: number; readonly height: number };

const headerBytes = 13;
/** Samples of a pixel by the colour type. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const depths: ReadonlySet<number> = new Set([1, 2, 4, 8, 16]);
/** Where each pass begins, and its steps: across, down. */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** @returns null: there is no valid header in its place */
export function pngHeaderOf(view: DataView): PngHeader | null {
  if (view.getUint32(8) !== headerBytes || view.getUint32(12) !== nameOf('IHDR')) return null;
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const depth = view.getUint8(24);
  const perPixel = samples[view.getUint8(25)];
  if (perPixel === undefined || !depths.has(depth)) return null;
  const isInterlaced = view.getUint8(28) !== 0;
  const passes = isInterlaced ? passesOf(width, height) : [{ width, height }];
  const kind = { bitsPerPixel: perPixel * depth, isDeep: depth === 16, isInterlaced };
  return { width, height, ...kind, passes };
}

function passesOf(width: number, height: number): readonly Pass[] {
  return adam7
    .map(([x, y, across, down]) => ({
      width: Math.ceil((width - x) / across),
      height: Math.ceil((height - y) / down),
    }))
    .filter((pass) => pass.width > 0 && pass.height > 0);
}

/** The size of the inflated data: each row of each pass has one byte before it. */
export function inflatedBytesOf({ passes, bitsPerPixel }: PngHeader): number {
  return passes.reduce((sum, { width, height }) => {
    return sum + height * (1 + Math.ceil((width * bitsPerPixel) / 8));
  }, 0);
}

/** The name of a chunk as a number, from its four letters in the file. */
export function nameOf(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE(0);
}
