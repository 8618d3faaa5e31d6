/**
 * Whether the data of a PNG is no more than it says of itself: the decoder believes the last
 * header, and inflates what is interlaced without a bound. Pure. For the picture thread alone:
 * to load `node:zlib` takes a start of the program milliseconds.
 *
 * Format: W3C PNG, 5.3 (chunks). What is animated has its first picture where a plain one has its
 * only one; the other chunks are skipped by the decoder.
 */
import { inflateSync } from 'node:zlib';
import { inflatedBytesOf, nameOf, pngHeaderOf } from './png.ts';

const paletteBytesMax = 3 * 256;
const single: ReadonlySet<number> = new Set(['IHDR', 'PLTE', 'tRNS', 'gAMA'].map(nameOf));

/** @throws where a chunk stands twice that may not, or the data is more than the header says */
export function checkPng(bytes: Buffer): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = pngHeaderOf(view);
  if (header === null) throw new Error('no header');
  const data: Buffer[] = [];
  const seen = new Set<number>();
  for (let at = 8; at + 12 <= bytes.length;) {
    const [length, name] = [view.getUint32(at), view.getUint32(at + 4)];
    if (name === nameOf('IDAT')) data.push(bytes.subarray(at + 8, at + 8 + length));
    else if (single.has(name) && seen.has(name)) throw new Error('a chunk that stands twice');
    else if (name === nameOf('PLTE') && length > paletteBytesMax) throw new Error('many colours');
    seen.add(name);
    at += 12 + length;
  }
  // What is not interlaced is inflated by the decoder with that bound.
  if (!header.isInterlaced) return;
  const bound = inflatedBytesOf(header);
  inflateSync(Buffer.concat(data), { maxOutputLength: bound, chunkSize: Math.max(64, bound + 1) });
}
