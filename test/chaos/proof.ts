/**
 * A proof: one promise, attacked with a seed, at one of two sizes. `npm run chaos` runs each at the
 * size for every change, `--nightly` at the largest.
 */
export type Size = 'change' | 'nightly';

export type Proof = {
  /** For `--only`. */
  readonly name: string;
  /** What holds: a cell of the table that a run prints. */
  readonly title: string;
  /** The unit of a size: kills, cuts, steps, … */
  readonly unit: string;
  /** 0: the proof does not run at that size. */
  readonly sizes: Readonly<Record<Size, number>>;
  /**
   * @param count in units
   * @param seed the same seed does the same things
   * @param say reports a line of progress
   * @throws AssertionError when the promise does not hold; the runner prints the seed
   */
  run(count: number, seed: number, say: (line: string) => void): Promise<Proved>;
};

/**
 * `figures` are counts of deeds and of results. `table` is a further Markdown table. Both stand in
 * the proof's section of docs/how-it-works/reliability.md.
 */
export type Proved =
  | {
      readonly kind: 'proved';
      readonly figures: Readonly<Record<string, number | string>>;
      readonly table?: string;
    }
  | { readonly kind: 'skipped'; readonly why: string };

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Runs parts of a proof, which mostly wait, at the same time, and resolves when all have ended.
 * @throws the first error
 */
export async function together<T>(parts: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const all = await Promise.allSettled(parts.map((part) => part()));
  return all.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
