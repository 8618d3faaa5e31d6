/** Where a value stands: offsets into the text, in UTF-16 units. */
export type Place = {
  /** Where the value's key begins and ends; where the value begins, if it has no key. */
  readonly key: number;
  readonly keyEnd: number;
  readonly value: number;
  readonly end: number;
  /** Its key; null: it has none. */
  readonly name: string | null;
  /** Places of the members of an object or the entries of a list, as they are written. */
  readonly entries: readonly Place[];
};

/** A key of the text, quotes included: where it begins and ends. */
export type Key = { readonly name: string; readonly start: number; readonly end: number };

type OpenPlace = Omit<Place, 'end' | 'entries'> & { end: number; readonly entries: OpenPlace[] };

/**
 * No field has a longer path. A longer one, as long as a key may be, would be copied for each value
 * below it.
 */
const pathMax = 256;
/** The entries of a value that can hold none; nothing is ever put in. */
const none: OpenPlace[] = [];

/** Gathers places while a text is read, in the order of their beginnings. */
export class Places {
  /** Of a key that is written twice, the last place. */
  readonly byPath = new Map<string, Place>();
  readonly #top: OpenPlace[] = [];
  #entries = this.#top;

  /** The place of the first value that was read; null: none was. */
  get whole(): Place | null {
    return this.#top[0] ?? null;
  }

  /**
   * A value begins; every value that begins before this one is closed is inside it.
   * @param holds whether it is an object or a list
   * @returns closes the value, with the offset behind its end
   */
  open(path: string, key: Key | null, value: number, holds: boolean): (end: number) => void {
    const outer = this.#entries;
    const place: OpenPlace = {
      key: key?.start ?? value,
      keyEnd: key?.end ?? value,
      value,
      end: value,
      name: key?.name ?? null,
      entries: holds ? [] : none,
    };
    outer.push(place);
    if (path.length <= pathMax) this.byPath.set(path, place);
    this.#entries = place.entries;
    return (end) => {
      place.end = end;
      this.#entries = outer;
    };
  }
}
