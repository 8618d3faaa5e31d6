/**
 * The positions of cursors, moves on their way into the storage included. A move may expect a
 * position: it is compared with the position at the time of its write. Where other processes move
 * cursors of the same storage, only the storage can compare. Then nothing read from it is
 * remembered.
 *
 * A move goes pending → landed or refused. Moves of one cursor land in the order in which they were
 * asked for. A storage that has no room for one move also refuses the moves behind it.
 */
import type { Acceptance } from '../../channels/channel.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { CursorMove } from '../ledger.ts';

type Value = string | null;

/** Reads a cursor from the storage; null: it was never set. */
type ReadCursor = (channel: ChannelKey, name: string) => Value | Promise<Value>;

type Place = {
  /** The position in the storage; undefined: it has to be read. */
  stored: Value | undefined;
  /** Moves on their way, in order. */
  readonly pending: CursorMove[];
  /**
   * How many moves have landed or were refused. A read that began before the last of them may be
   * outdated.
   */
  answered: number;
};

/** The answer to a batch if a cursor stands elsewhere than a move expects. */
export const conflict: Acceptance = { kind: 'refused', reason: 'conflict', retryAfterMs: 0 };

export class Cursors {
  readonly #read: ReadCursor;
  readonly #isShared: boolean;
  /** One for each cursor that was moved or read. A channel has a handful of them. */
  readonly #places = new Map<string, Place>();

  /**
   * @param read called for a cursor that was not read or moved before
   * @param isShared whether other processes move the cursors too; then `read` is called each time
   */
  constructor(read: ReadCursor, isShared = false) {
    this.#read = read;
    this.#isShared = isShared;
  }

  /** The position after all moves on their way are written; null: the cursor was never set. */
  of(channel: ChannelKey, name: string): Value | Promise<Value> {
    const place = this.#placeOf(channel, name);
    const known = valueOf(place);
    if (known !== undefined) return known;
    const read = this.#read(channel, name);
    if (!(read instanceof Promise)) return this.#keep(place, read);
    const { answered } = place;
    return read.then((value) => {
      return place.answered === answered ? this.#keep(place, value) : this.of(channel, name);
    });
  }

  /**
   * Begins moves, all or nothing. The caller reports each of them with `landed` or `refused`.
   * @returns false: a cursor stands elsewhere than its move expects, and none has moved. It is also
   *   false if the position has to be read first: call `of`. With shared cursors an unread position
   *   counts as expected, and the storage compares
   */
  move(moves: readonly CursorMove[]): boolean {
    for (const move of moves) if (!this.#isAsExpected(move)) return false;
    for (const move of moves) this.#placeOf(move.channel, move.name).pending.push(move);
    return true;
  }

  /** Call when the moves are in the storage. */
  landed(moves: readonly CursorMove[]): void {
    for (const move of moves) {
      const place = this.#placeOf(move.channel, move.name);
      removePending(place, move);
      if (!this.#isShared) place.stored = move.value;
    }
  }

  /** Call when the moves were not written. The next reader reads the position from the storage. */
  refused(moves: readonly CursorMove[]): void {
    for (const move of moves) {
      const place = this.#placeOf(move.channel, move.name);
      removePending(place, move);
      place.stored = undefined;
    }
  }

  #isAsExpected({ channel, name, expected }: CursorMove): boolean {
    if (expected === undefined) return true;
    if (this.#isShared) {
      const underWay = this.#placeOf(channel, name).pending.at(-1);
      return underWay === undefined || underWay.value === expected;
    }
    const value = this.of(channel, name);
    // If this read fails, the next caller reads again.
    if (value instanceof Promise) value.catch(() => {});
    return value === expected;
  }

  /** @param value as it was read; moves that were begun meanwhile are newer */
  #keep(place: Place, value: Value): Value {
    if (this.#isShared) return place.pending.at(-1)?.value ?? value;
    if (place.stored === undefined) place.stored = value;
    return valueOf(place) ?? null;
  }

  /** Channel keys hold no space, so no two cursors share a key. */
  #placeOf(channel: ChannelKey, name: string): Place {
    const key = `${channel} ${name}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place: Place = { stored: undefined, pending: [], answered: 0 };
    this.#places.set(key, place);
    return place;
  }
}

function valueOf({ pending, stored }: Place): Value | undefined {
  return pending.at(-1)?.value ?? stored;
}

function removePending(place: Place, move: CursorMove): void {
  const at = place.pending.indexOf(move);
  if (at >= 0) place.pending.splice(at, 1);
  place.answered++;
}
