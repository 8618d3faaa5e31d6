/** Batches of writes, and the callers that wait for them. */

/**
 * A caller that waits for the writes up to `until`, from the end of the previous caller's. `Told`
 * is the result of a commit.
 */
export type Waiter<Told> = {
  readonly until: number;
  /** Called with the result of the commit; null: it cannot be written. */
  readonly written: (told: Told | null) => void;
  /** Called when there is no room and nothing is tried again; null: the writes wait for room. */
  readonly refused: (() => void) | null;
  /**
   * Called if a cursor stands elsewhere than its writes expect. A caller with this callback has a
   * batch of its own.
   */
  readonly conflicted?: () => void;
};

export type Batch<Write, Told> = {
  readonly writes: readonly Write[];
  readonly waiting: readonly Waiter<Told>[];
};

/**
 * The batch without the writes of callers that can be refused.
 * @param isLeftOut whether a caller's writes are dropped silently; left out: none are
 */
export function withoutRefused<Write, Told>(
  { writes, waiting }: Batch<Write, Told>,
  isLeftOut: (own: readonly Write[]) => boolean = () => false,
): Batch<Write, Told> & { readonly refused: readonly (() => void)[] } {
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

/** Joins two batches, in their order. */
export function joined<Write, Told>(
  first: Batch<Write, Told>,
  then: Batch<Write, Told>,
): { readonly writes: Write[]; readonly waiting: Waiter<Told>[] } {
  const behind = first.writes.length;
  const later = then.waiting.map((waiter) => ({ ...waiter, until: waiter.until + behind }));
  return { writes: [...first.writes, ...then.writes], waiting: [...first.waiting, ...later] };
}
