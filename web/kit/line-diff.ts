/**
 * What differs between two texts, line by line, with as few changes as there can be.
 * Method: E. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986.
 */

/** `old` and `now` are line numbers from 1; null: the line is not in that text. */
export type DiffLine = {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  readonly old: number | null;
  readonly now: number | null;
};

/** Lines that are the same and far from any change, left out. */
export type DiffGap = { readonly kind: 'gap'; readonly lines: number };

/** More differences than this are told as everything removed and added. */
const editsMax = 600;

/** The whole of both texts. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const middle = pathOf(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const kinds = [
    ...Array<'same'>(head).fill('same'),
    ...middle,
    ...Array<'same'>(tail).fill('same'),
  ];
  let [o, n] = [0, 0];
  return kinds.map((kind): DiffLine => {
    if (kind === 'removed') return { kind, text: old[o]!, old: ++o, now: null };
    if (kind === 'added') return { kind, text: now[n]!, old: null, now: ++n };
    return { kind, text: old[o]!, old: ++o, now: ++n };
  });
}

/** Only what is within so many lines of a change, and how much is left out between. */
export function folded(
  lines: readonly DiffLine[],
  around: number,
): readonly (DiffLine | DiffGap)[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    for (let at = index - around; at <= index + around; at++) near.add(at);
  }
  const shown: (DiffLine | DiffGap)[] = [];
  let left = 0;
  const close = (): void => {
    if (left > 0) shown.push({ kind: 'gap', lines: left });
    left = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (!near.has(index)) left++;
    else {
      close();
      shown.push(line);
    }
  }
  close();
  return shown;
}

/** The last line's end is no line of its own. */
function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

type Kind = DiffLine['kind'];

/** The way from one list to the other: furthest reaching paths, by number of edits. */
function pathOf(old: readonly string[], now: readonly string[]): readonly Kind[] {
  const most = Math.min(old.length + now.length, editsMax);
  let reach = new Map<number, number>([[1, 0]]);
  const steps: ReadonlyMap<number, number>[] = [];
  for (let edits = 0; edits <= most; edits++) {
    steps.push(reach);
    reach = new Map(reach);
    for (let k = -edits; k <= edits; k += 2) {
      let x = isDown(reach, k, edits) ? reach.get(k + 1)! : reach.get(k - 1)! + 1;
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x++;
      reach.set(k, x);
      if (x >= old.length && x - k >= now.length) return backwards(steps, old.length, now.length);
    }
  }
  return [...old.map((): Kind => 'removed'), ...now.map((): Kind => 'added')];
}

function isDown(reach: ReadonlyMap<number, number>, k: number, edits: number): boolean {
  if (k === -edits) return true;
  return k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1);
}

function backwards(steps: readonly ReadonlyMap<number, number>[], x: number, y: number): Kind[] {
  const kinds: Kind[] = [];
  for (let edits = steps.length - 1; edits >= 0; edits--) {
    const reach = steps[edits]!;
    const k = x - y;
    const down = isDown(reach, k, edits);
    const from = down ? k + 1 : k - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > fromX && y > fromY) {
      kinds.push('same');
      x--;
      y--;
    }
    if (edits === 0) break;
    kinds.push(down ? 'added' : 'removed');
    [x, y] = [fromX, fromY];
  }
  return kinds.reverse();
}
