/** The picture in the tray and the task bar: an arrow on a rounded square. Pure. */

const side = 64;
const corner = 14;
const back = [0x1d, 0x4f, 0xc4] as const;
const arrow = [0xff, 0xff, 0xff] as const;

/** Red, green, blue and opacity of each pixel, row by row. */
export function drawIcon(): {
  readonly data: Buffer;
  readonly width: number;
  readonly height: number;
} {
  const data = Buffer.alloc(side * side * 4);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      if (!isInSquare(x, y)) continue;
      const colour = isInArrow(x, y) ? arrow : back;
      data.set([...colour, 0xff], (y * side + x) * 4);
    }
  }
  return { data, width: side, height: side };
}

function isInSquare(x: number, y: number): boolean {
  const [dx, dy] = [x, y].map((at) => Math.max(corner - at, at - (side - 1 - corner), 0));
  return Math.hypot(dx!, dy!) <= corner;
}

function isInArrow(x: number, y: number): boolean {
  const off = Math.abs(y - side / 2);
  const isShaft = off <= 4 && x >= 14 && x < 40;
  const isHead = x >= 34 && x <= 50 && off <= 50 - x;
  return isShaft || isHead;
}
