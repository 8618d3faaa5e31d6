/**
 * What a decoder is shown of a JPEG: its tables, its frame and its scans, and nothing else that it
 * would take for a scan. A scan goes over the whole picture, however few bytes it has: a small file
 * of many takes minutes. So they are counted before anything is decoded. Pure.
 *
 * Format: ITU T.81, B.2.
 */

/** No tool of libjpeg writes more; a camera writes one, an editor about ten. */
const scansMax = 100;
/** Of one component: 64 for each time that all are gone over; editors do it three times. */
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
 * @throws where it is not as the format has it, or goes over the picture too often
 */
export function checkedJpeg(bytes: Buffer): Buffer {
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
    if (isShown(name, segment, scans)) kept.push(bytes.subarray(start, at));
  }
  return Buffer.concat([...kept, Buffer.from([0xff, marker.end])]);
}

/** Some encoders count the first byte of a marker to the segment before it. */
function markerFrom(bytes: Buffer, from: number): number {
  let at = bytes[from] !== 0xff && bytes[from - 1] === 0xff ? from - 1 : from;
  while (bytes[at] === 0xff && bytes[at + 1] === 0xff) at += 1;
  if (bytes[at] !== 0xff || at + 1 >= bytes.length) throw new Error('no marker');
  return at;
}

/** A segment without which the picture is another one. */
function isShown(name: number, segment: Buffer, scans: Scans): boolean {
  switch (name) {
    case marker.scan:
      return true;
    case marker.quantization:
      return holdsTables(segment, (at) => 1 + 64 * (segment[at]! >> 4 === 0 ? 1 : 2));
    case marker.huffman:
      return holdsTables(segment, (at) => 17 + sum(segment.subarray(at + 1, at + 17)));
    case marker.interval:
      return isOf(2, segment);
    case marker.adobe:
      return segment.length <= 64;
    default:
      if (!marker.frames.some((frame) => frame === name)) return false;
      scans.begin(segment, name === marker.progressive);
      return true;
  }
}

/** So that a decoder that does not heed its length ends where it ends. */
function isOf(length: number, segment: Buffer): boolean {
  if (segment.length !== length) throw new Error('a segment of another length');
  return true;
}

function holdsTables(segment: Buffer, lengthAt: (at: number) => number): boolean {
  let at = 0;
  while (at < segment.length) at += lengthAt(at);
  return isOf(at, segment);
}

const sum = (all: Uint8Array): number => all.reduce((total, one) => total + one, 0);

/** In the data of a scan `ff` stands before `00` and restarts alone. */
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
    isOf(6 + 3 * components, frame);
    this.#isProgressive = isProgressive;
  }

  add(scan: Buffer): void {
    const components = scan[0] ?? 0;
    isOf(4 + 2 * components, scan);
    const [first, last] = scan.subarray(-3);
    const coefficients = this.#isProgressive === true ? Math.max(1, last! - first! + 1) : 64;
    for (let at = 0; at < components; at++) this.#goOver(scan[1 + 2 * at]!, coefficients);
    if (++this.#count > scansMax) throw new Error('too many scans');
  }

  #goOver(component: number, coefficients: number): void {
    const all = (this.#coefficients.get(component) ?? 0) + coefficients;
    if (all > coefficientsMax) throw new Error('too many scans of one component');
    this.#coefficients.set(component, all);
  }
}
