/**
 * What a PNG says of itself. Pure.
 *
 * Format: W3C PNG, 11.2.2 (header), 8 (interlacing).
 */

export type PngHeader = {
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
  /** Two bytes a sample. */
  readonly isDeep: boolean;
  readonly isInterlaced: boolean;
  readonly passes: readonly Pass[];
};

/** Of one pass over the picture; what is not interlaced has one. */
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

/** @returns null: no header stands where it has to */
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

/** Of its data: each row of each pass has a byte before it. */
export function inflatedBytesOf({ passes, bitsPerPixel }: PngHeader): number {
  return passes.reduce((sum, { width, height }) => {
    return sum + height * (1 + Math.ceil((width * bitsPerPixel) / 8));
  }, 0);
}

/** Of a chunk, as its four letters stand in the file. */
export function nameOf(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE(0);
}
