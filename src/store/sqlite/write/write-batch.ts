/** What is gathered for one group of the journal, and who waits for it. */
import type { KeyedAccept, KnownMessage, Write } from './statements.ts';

/** Which keyed messages had come before: place in the group → the first one. */
export type Known = ReadonlyMap<number, KnownMessage>;
export type Written = (known: Known | null) => void;

/** A caller who waits for the writes up to `until`, from where those of the caller before end. */
export type Waiter = {
  readonly until: number;
  readonly written: Written;
  /** Called when there is no room and no later try; null: the writes wait for room. */
  readonly refused: (() => void) | null;
};
export type WriteBatch = {
  readonly writes: readonly (Write | KeyedAccept)[];
  readonly waiting: readonly Waiter[];
};

/** The same batch without the writes of refused callers, and without its last try for room. */
export function withoutRefused({ writes, waiting }: WriteBatch): {
  readonly writes: readonly (Write | KeyedAccept)[];
  readonly waiting: readonly Waiter[];
  readonly refused: readonly (() => void)[];
} {
  const kept: (Write | KeyedAccept)[] = [];
  const staying: Waiter[] = [];
  const refused: (() => void)[] = [];
  let from = 0;
  for (const waiter of waiting) {
    const own = writes.slice(from, waiter.until);
    from = waiter.until;
    if (waiter.refused !== null) refused.push(waiter.refused);
    else if (!isTry(own)) {
      kept.push(...own);
      staying.push({ ...waiter, until: kept.length });
    }
  }
  return { writes: kept, waiting: staying, refused };
}

/** One batch of two, in their order. */
export function joined(
  first: WriteBatch,
  then: WriteBatch,
): { readonly writes: (Write | KeyedAccept)[]; readonly waiting: Waiter[] } {
  const behind = first.writes.length;
  const later = then.waiting.map((waiter) => ({ ...waiter, until: waiter.until + behind }));
  return { writes: [...first.writes, ...then.writes], waiting: [...first.waiting, ...later] };
}

function isTry([write]: readonly (Write | KeyedAccept)[]): boolean {
  return write !== undefined && !('key' in write) && write[0] === 'roomTaken';
}
