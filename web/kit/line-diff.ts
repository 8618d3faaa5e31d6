/** The differences between two texts, line by line, with as few changes as possible. */
import { diffArrays } from 'diff/lib/diff/array.js';

/** `old` and `now` are line numbers from 1; null: the line is not in that text. */
export type DiffLine = {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  readonly old: number | null;
  readonly now: number | null;
};

/** Equal lines that are left out, since they are far from any change. */
export type DiffGap = { readonly kind: 'gap'; readonly lines: number };

/** With more differences than this, the result is all lines removed and all lines added. */
const editsMax = 1_000;

/** All lines of both texts. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const changes = diffArrays(old, now, { maxEditLength: editsMax }) ?? [
    { added: false, removed: true, value: old },
    { added: true, removed: false, value: now },
  ];
  let [o, n] = [0, 0];
  return changes.flatMap(({ added, removed, value }) =>
    value.map((text): DiffLine => {
      if (removed) return { kind: 'removed', text, old: ++o, now: null };
      if (added) return { kind: 'added', text, old: null, now: ++n };
      return { kind: 'same', text, old: ++o, now: ++n };
    }),
  );
}

/** Keeps only lines close to a change, with gaps between them. */
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

/** The end of the last line starts no further line. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
