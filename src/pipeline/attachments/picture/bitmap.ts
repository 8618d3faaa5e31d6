/** Pictures as their pixels: four bytes each, red, green, blue and how opaque it is. Pure. */
import type { Orientation } from './orientation.ts';

export type Bitmap = { readonly width: number; readonly height: number; readonly data: Uint8Array };

/** The same, no larger than that on its longer side; a pixel is the mean of those it stands for. */
export function fitted(bitmap: Bitmap, sideMax: number): Bitmap {
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

/** The same on white. */
export function onWhite({ width, height, data }: Bitmap): Bitmap {
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

/** The same as it is to be looked at. */
export function turned(bitmap: Bitmap, orientation: Orientation): Bitmap {
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
      // Mirrored first in the result, so that what is left is a turn by quarters.
      const column = isMirrored ? width - 1 - x : x;
      target[y * width + x] = source[placeOf(column, y, turns, from, lines)]!;
    }
  }
  return { width, height, data: new Uint8Array(target.buffer) };
}

/** Where the pixel lies that is there after so many quarter turns clockwise. */
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
