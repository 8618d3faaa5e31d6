/**
 * How large a picture says that it is, and what a decoder holds for that, read from its first
 * bytes: a file of some kilobytes can name a size that fills all memory, so it is asked before
 * anything is decoded. Pure.
 *
 * Formats: JPEG (ITU T.81, B.2.2), PNG (W3C, 11.2.2), GIF (89a, 18).
 */
import { inflatedBytesOf, pngHeaderOf } from './png.ts';

export type PictureSize = {
  readonly width: number;
  readonly height: number;
  /** What decoding it takes at most, as measured with the decoders in use. */
  readonly heldBytes: number;
};

/** @returns null: it is none of these, or ends before it says so */
export function sizeOf(bytes: Uint8Array): PictureSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = read(view);
    return size !== null && size.width > 0 && size.height > 0 ? size : null;
  } catch {
    // It ends too early.
    return null;
  }
}

function read(view: DataView): PictureSize | null {
  const first = view.getUint32(0);
  if (first === 0x89504e47) return sizeOfPng(view);
  if (first === 0x47494638) return sizeOfGif(view);
  const frame = first >>> 16 === 0xffd8 ? jpegFrameOf(view) : null;
  return frame === null ? null : sizeOfJpeg(frame);
}

/** The decoder makes an object of each row. Of the data it has four copies, and the check one. */
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

/** Of one block: its coefficients, which are an object of their own, and its samples. */
const blockBytes = 900;

function sizeOfJpeg({ width, height, blocks }: JpegFrame): PictureSize {
  return { width, height, heldBytes: blocks * blockBytes + width * height * 7 };
}

/** What the decoder counts of a frame: no second one has room beside it. */
export function countedBytesOf(jpeg: Uint8Array): number {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  const frame = jpegFrameOf(view);
  const { width, height, blocks } = frame ?? { width: 0, height: 0, blocks: 0 };
  const tablesBytes = 1024 * 1024;
  return blocks * (256 + 64) + width * height * 8 + tablesBytes;
}

/** Its markers are C0 to CF but for tables (C4, CC) and the reserved C8. */
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

/** Each component has whole units, in which each is sampled as often as it says. */
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
