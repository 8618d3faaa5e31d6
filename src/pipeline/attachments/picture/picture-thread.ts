/** Decodes pictures and makes them anew, one after the other: the thread of `remaker.ts`. */
import { parentPort } from 'node:worker_threads';
import jpeg from 'jpeg-js';
import { GifReader } from 'omggif';
import { PNG } from 'pngjs';
import { checkGifCodes } from './gif-check.ts';
import { fitted, onWhite, turned, type Bitmap } from './bitmap.ts';
import { orientationOf, type Orientation } from './orientation.ts';
import { checkedJpeg } from './jpeg-check.ts';
import { checkPng } from './png-check.ts';
import type { FromPictureThread, ToPictureThread } from './remaker.ts';
import { countedBytesOf } from './size.ts';

/** Models look at no more of the longer side. */
const sideMax = 1_568;
const quality = 85;

/** It is turned as its file says; what else the file says is lost. */
function remake(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const looked = turned(fitted(decode(bytes), sideMax), orientationIn(bytes));
  const { data } = jpeg.encode(onWhite(looked), quality);
  return new Uint8Array(data);
}

const jpegStart = 0xff;
const pngStart = 0x89;

/** @throws where it is no such picture, or damaged, or more than it says of itself */
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

/** Other pictures lie as they are to be looked at. */
function orientationIn(bytes: Buffer): Orientation {
  return bytes[0] === jpegStart ? orientationOf(bytes) : 1;
}

/** The decoder makes room for a frame, and not for its part that lies on the screen. */
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

/** What a decoder prints is no line of svc's output. */
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
