/** What is gathered to be written in one go, and who waits for it. */

/**
 * A caller who waits for the writes up to `until`, from where those of the caller before end.
 * `Told` is what a commit tells.
 */
export type Waiter<Told> = {
  readonly until: number;
  /** Null: it cannot be written. */
  readonly written: (told: Told | null) => void;
  /** Called when there is no room and no later try; null: the writes wait for room. */
  readonly refused: (() => void) | null;
  /** Called where what its writes expect is not so; who has this goes alone. */
  readonly conflicted?: () => void;
};

export type Gathered<Write, Told> = {
  readonly writes: readonly Write[];
  readonly waiting: readonly Waiter<Told>[];
};

/**
 * The same without the writes of callers who can be refused.
 * @param isLeftOut whether a caller's writes go without a word; left out: none of them do
 */
export function withoutRefused<Write, Told>(
  { writes, waiting }: Gathered<Write, Told>,
  isLeftOut: (own: readonly Write[]) => boolean = () => false,
): Gathered<Write, Told> & { readonly refused: readonly (() => void)[] } {
  const kept: Write[] = [];
  const staying: Waiter<Told>[] = [];
  const refused: (() => void)[] = [];
  let from = 0;
  for (const waiter of waiting) {
    const own = writes.slice(from, waiter.until);
    from = waiter.until;
    if (waiter.refused !== null) refused.push(waiter.refused);
    else if (!isLeftOut(own)) {
      kept.push(...own);
      staying.push({ ...waiter, until: kept.length });
    }
  }
  return { writes: kept, waiting: staying, refused };
}

/** One of two, in their order. */
export function joined<Write, Told>(
  first: Gathered<Write, Told>,
  then: Gathered<Write, Told>,
): { readonly writes: Write[]; readonly waiting: Waiter<Told>[] } {
  const behind = first.writes.length;
  const later = then.waiting.map((waiter) => ({ ...waiter, until: waiter.until + behind }));
  return { writes: [...first.writes, ...then.writes], waiting: [...first.waiting, ...later] };
}
