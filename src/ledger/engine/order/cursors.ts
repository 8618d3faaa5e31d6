/**
 * Where cursors stand, counted with the moves that are on their way into the storage: what a move
 * expects is compared with what will be there when it is written. Where others move cursors of the
 * same storage, that alone can compare, and nothing that it held is remembered.
 *
 * A move is asked for → landed | refused. Moves of one cursor land in the order in which they were
 * asked for. A storage that refuses one for want of room refuses those on their way behind it, too.
 */
import type { Acceptance } from '../../../channels/channel.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { CursorMove } from '../../ledger.ts';

type Value = string | null;

/** What the storage holds; a promise where that takes a while. Null: it was never set. */
export type ReadCursor = (channel: ChannelKey, name: string) => Value | Promise<Value>;

type Place = {
  /** What the storage holds; undefined: it has to be read. */
  stored: Value | undefined;
  /** On their way, in order. */
  readonly asked: CursorMove[];
  /** Moves that were answered: what was read before such an answer may be outdated. */
  answered: number;
};

/** What a batch is answered with of which a cursor stands elsewhere than expected. */
export const conflict: Acceptance = { kind: 'refused', reason: 'conflict', retryAfterMs: 0 };

export class Cursors {
  readonly #read: ReadCursor;
  readonly #isShared: boolean;
  /** One for each cursor that was moved or read; a channel has a handful of them. */
  readonly #places = new Map<string, Place>();

  /**
   * @param read called for a cursor that was not read or moved before
   * @param isShared whether others move them as well; then `read` is called each time
   */
  constructor(read: ReadCursor, isShared = false) {
    this.#read = read;
    this.#isShared = isShared;
  }

  /** Where it will stand once all that was asked for is written; null: it was never set. */
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
   * Asks for moves, all or nothing. Each that was asked for is to be told as `landed` or `refused`.
   * @returns whether every cursor stands where its move expects it; false: none has moved. It is
   *   false as well where that has to be read first, which `of` does; where others move them as
   *   well, it is true then, and the storage compares
   */
  move(moves: readonly CursorMove[]): boolean {
    for (const move of moves) if (!this.#isAsExpected(move)) return false;
    for (const move of moves) this.#placeOf(move.channel, move.name).asked.push(move);
    return true;
  }

  /** These are in the storage now. */
  landed(moves: readonly CursorMove[]): void {
    for (const move of moves) {
      const place = this.#placeOf(move.channel, move.name);
      answer(place, move);
      if (!this.#isShared) place.stored = move.value;
    }
  }

  /** These were not written: what the storage holds is read back by whoever asks next. */
  refused(moves: readonly CursorMove[]): void {
    for (const move of moves) {
      const place = this.#placeOf(move.channel, move.name);
      answer(place, move);
      place.stored = undefined;
    }
  }

  #isAsExpected({ channel, name, expected }: CursorMove): boolean {
    if (expected === undefined) return true;
    if (this.#isShared) {
      const underWay = this.#placeOf(channel, name).asked.at(-1);
      return underWay === undefined || underWay.value === expected;
    }
    const value = this.of(channel, name);
    // Whoever asks next asks again where this read fails.
    if (value instanceof Promise) value.catch(() => {});
    return value === expected;
  }

  /** @param value as it was read; what came meanwhile is newer */
  #keep(place: Place, value: Value): Value {
    if (this.#isShared) return place.asked.at(-1)?.value ?? value;
    if (place.stored === undefined) place.stored = value;
    return valueOf(place) ?? null;
  }

  /** Channel keys hold no space, so no two cursors share a key. */
  #placeOf(channel: ChannelKey, name: string): Place {
    const key = `${channel} ${name}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place: Place = { stored: undefined, asked: [], answered: 0 };
    this.#places.set(key, place);
    return place;
  }
}

function valueOf({ asked, stored }: Place): Value | undefined {
  return asked.at(-1)?.value ?? stored;
}

function answer(place: Place, move: CursorMove): void {
  const at = place.asked.indexOf(move);
  if (at >= 0) place.asked.splice(at, 1);
  place.answered++;
}
