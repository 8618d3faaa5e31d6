/**
 * Counts dead letters. The parts of one reply are one dead letter, although they may die and be
 * deleted at different times. It keeps ids and not a number, because the sweep reports its
 * deletions late: a reported letter may be off the count already, or was never on it.
 */
import { wholeIdLength } from './queue.ts';

export class LetterCount {
  /** The id of each message or whole reply, with the id endings of its dead rows. */
  readonly #ends = new Map<string, readonly string[]>();

  get count(): number {
    return this.#ends.size;
  }

  /** @param id of a message, a reply, or a part of a reply */
  add(id: string): void {
    const whole = id.slice(0, wholeIdLength);
    const end = id.slice(wholeIdLength);
    const ends = this.#ends.get(whole) ?? [];
    if (!ends.includes(end)) this.#ends.set(whole, [...ends, end]);
  }

  /**
   * Call when the row was deleted or replayed. A second call for the same id changes nothing.
   * @param id as for `add`; the other parts of a reply stay
   */
  remove(id: string): void {
    const whole = id.slice(0, wholeIdLength);
    const ends = this.#ends.get(whole) ?? [];
    const remaining = ends.filter((end) => whole + end !== id);
    if (remaining.length === 0) this.#ends.delete(whole);
    else this.#ends.set(whole, remaining);
  }
}
