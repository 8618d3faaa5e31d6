/** Decodes pictures and makes them anew, one after the other: the thread of `remaker.ts`. */
import { parentPort } from 'node:worker_threads';
import jpeg from 'jpeg-js';
import { GifReader } from 'omggif';
import { PNG } from 'pngjs';
import { fitted, onWhite, turned, type Bitmap } from './bitmap.ts';
import { orientationOf } from './orientation.ts';
import type { FromPictureThread, ToPictureThread } from './remaker.ts';

/** Models look at no more of the longer side. */
const sideMax = 1_568;
const quality = 85;
/** Of one JPEG while it is decoded. */
const decodingMbMax = 512;

/** It is turned as its file says; what else the file says is lost. */
function remake(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { data } = jpeg.encode(onWhite(fitted(decode(bytes), sideMax)), quality);
  return new Uint8Array(data);
}

/** @throws where it is no such picture, or damaged */
function decode(bytes: Buffer): Bitmap {
  const [first = 0] = bytes;
  switch (first) {
    case 0xff: {
      const options = {
        useTArray: true,
        maxMemoryUsageInMB: decodingMbMax,
        tolerantDecoding: true,
      } as const;
      return turned(jpeg.decode(bytes, options), orientationOf(bytes));
    }
    case 0x89:
      return PNG.sync.read(bytes);
    default: {
      const gif = new GifReader(bytes);
      const data = new Uint8Array(gif.width * gif.height * 4);
      gif.decodeAndBlitFrameRGBA(0, data);
      return { width: gif.width, height: gif.height, data };
    }
  }
}

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
