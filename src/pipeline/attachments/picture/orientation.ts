/**
 * How a JPEG is to be turned to be looked at. Pure.
 * Format: Exif 3.0, 4.6.4.1 (tag 0x0112), in an APP1 segment; TIFF 6.0 for its directory.
 */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** @returns 1, as it lies, where nothing is said that can be read */
export function orientationOf(jpeg: Uint8Array): Orientation {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  try {
    const tiff = tiffIn(view);
    return tiff === null ? 1 : tagIn(view, tiff);
  } catch {
    // It ends too early.
    return 1;
  }
}

const app1 = 0xffe1;
const startOfScan = 0xffda;
const exifName = 0x45786966;
const orientationTag = 0x0112;

/** Where the TIFF header begins. */
function tiffIn(view: DataView): number | null {
  for (let at = 2; at + 10 <= view.byteLength; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint16(at);
    if (marker === startOfScan || marker >>> 8 !== 0xff) return null;
    if (marker === app1 && view.getUint32(at + 4) === exifName) return at + 10;
  }
  return null;
}

function tagIn(view: DataView, tiff: number): Orientation {
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
