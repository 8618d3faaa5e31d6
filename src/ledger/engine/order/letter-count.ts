/**
 * How many dead letters there are. The parts of one reply may die, and be swept away, at different
 * times, and are one dead letter. A number would not do: the sweep tells only afterwards what it
 * took, which may be a letter that somebody else has found, or one that was gone before they were
 * counted.
 */
import { wholeIdLength } from './rows.ts';

export class LetterCount {
  /** The ids of messages and of whole replies, each with how the ids of its dead rows end. */
  readonly #ends = new Map<string, readonly string[]>();

  get count(): number {
    return this.#ends.size;
  }

  /** @param id of a message, a reply, or a part of one */
  add(id: string): void {
    const [whole, end] = [id.slice(0, wholeIdLength), id.slice(wholeIdLength)];
    const ends = this.#ends.get(whole) ?? [];
    if (!ends.includes(end)) this.#ends.set(whole, [...ends, end]);
  }

  /**
   * The row was deleted, or is back; to say so twice changes nothing.
   * @param id as for `add`: the other parts of a reply stay
   */
  remove(id: string): void {
    const whole = id.slice(0, wholeIdLength);
    const ends = this.#ends.get(whole) ?? [];
    const left = ends.filter((end) => whole + end !== id);
    if (left.length === 0) this.#ends.delete(whole);
    else this.#ends.set(whole, left);
  }
}
