/** Picture files for tests, each of one colour or made of four. */
import { deflateSync } from 'node:zlib';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';

type Colour = readonly number[];

/** @param colour red, green, blue, and how opaque it is */
export function pngOf(width: number, height: number, colour: Colour): Uint8Array {
  const png = new PNG({ width, height });
  for (let at = 0; at < png.data.length; at += 4) png.data.set([...colour, 255].slice(0, 4), at);
  return PNG.sync.write(png);
}

/** The left half of it red, the right half blue. */
export function jpegOf(width: number, height: number): Uint8Array {
  const data = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    data.set(at % width < width / 2 ? [255, 0, 0, 255] : [0, 0, 255, 255], at * 4);
  }
  return jpeg.encode({ width, height, data }, 95).data;
}

/** The same file with an Exif block that says how to turn it, and the words in it. */
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

/** A file of a few bytes that says that it is so large. */
export function bombOf(width: number, height: number): Uint8Array {
  const png = Buffer.from(pngOf(1, 1, [0, 0, 0]));
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  return png;
}

/** One that says that it is small, and holds more than a gigabyte of nothing. */
export function denseOf(): Uint8Array {
  const png = Buffer.from(pngOf(1, 1, [0, 0, 0]));
  const data = deflateSync(Buffer.alloc(64 * 1024 * 1024));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length, 0);
  head.write('IDAT', 4, 'latin1');
  return Buffer.concat([png.subarray(0, 33), head, data, png.subarray(33)]);
}
