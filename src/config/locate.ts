/**
 * A strict JSON parser (RFC 8259) that knows the place of every value, so that a problem has a line
 * and a column. It never throws, and it limits the depth. A value below a key that begins with `_`
 * only has to be JSON.
 */

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
/** Has no prototype, so that every key of a file is an ordinary key. */
export type JsonObject = { readonly [key: string]: Json };

type LocatedFault = {
  readonly code: 'syntax' | 'too_deep' | 'duplicate_key';
  readonly path: string;
  readonly offset: number;
  readonly message: string;
  readonly remedy: string;
};

/** `value` is undefined when the text is not JSON. Then the only fault says where the error is. */
export type Located = {
  readonly value: Json | undefined;
  /** The place of the whole value; null when the text is not JSON. */
  readonly whole: Place | null;
  /** Places by path. A duplicate key has its last place. */
  readonly places: ReadonlyMap<string, Place>;
  readonly faults: readonly LocatedFault[];
};

const depthMax = 64;

/** Reads a JSON text. It may begin with a byte order mark. */
export function locate(text: string): Located {
  const reader = new Reader(text);
  try {
    const value = reader.document();
    const { places, faults } = reader;
    return { value, whole: places.whole, places: places.byPath, faults };
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    return { value: undefined, whole: null, places: new Map(), faults: [error.fault] };
  }
}

/** The path of a member as a person writes it: `brains[0].policy`, or `["odd key"]`. */
export function memberPath(path: string, key: string): string {
  if (!/^[\w$-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

class Stop extends Error {
  readonly fault: LocatedFault;
  constructor(fault: LocatedFault) {
    super(fault.message);
    this.fault = fault;
  }
}

class Reader {
  readonly places = new Places();
  readonly faults: LocatedFault[] = [];
  readonly #text: string;
  #at: number;
  #depth = 0;
  /** How many values around the current one have a key that begins with `_`. */
  #noteDepth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith('\uFEFF') ? 1 : 0;
  }

  document(): Json {
    this.#space();
    if (this.#at === this.#text.length) {
      this.#stop('', 'the file is empty', 'Write one JSON object, beginning with {.');
    }
    const value = this.#value('', null);
    this.#space();
    if (this.#at < this.#text.length) {
      this.#stop('', 'something stands after the end of the JSON value', 'Remove it.');
    }
    return value;
  }

  #value(path: string, key: Key | null): Json {
    const char = this.#text[this.#at];
    const close = this.places.open(path, key, this.#at, char === '{' || char === '[');
    const value = this.#valueWithoutPlace(char, path);
    close(this.#at);
    return value;
  }

  #valueWithoutPlace(char: string | undefined, path: string): Json {
    if (char === '"') return this.#string(path);
    if (char === '{' || char === '[') {
      if (this.#depth === depthMax) {
        return this.#noteDepth === 0 ? this.#stopDeep(path) : this.#tooDeepNote(path);
      }
      this.#depth++;
      const value = char === '{' ? this.#object(path) : this.#list(path);
      this.#depth--;
      return value;
    }
    if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) {
      return this.#number(path);
    }
    return this.#word(path);
  }

  #object(path: string): JsonObject {
    const object = Object.create(null) as Record<string, Json>;
    this.#at++;
    this.#space();
    if (this.#take('}')) return object;
    for (;;) {
      const start = this.#at;
      if (this.#text[start] !== '"') this.#stopKey(path);
      const name = this.#string(path);
      const key = { name, start, end: this.#at };
      const inner = memberPath(path, name);
      if (name in object && this.#noteDepth === 0) this.#duplicate(inner, start);
      this.#space();
      if (!this.#take(':')) {
        this.#stop(inner, 'a colon is missing after the key', 'Write a : between key and value.');
      }
      this.#space();
      const isNote = name.startsWith('_') ? 1 : 0;
      this.#noteDepth += isNote;
      object[name] = this.#value(inner, key);
      this.#noteDepth -= isNote;
      if (this.#commaOrEnd(path, '}')) return object;
    }
  }

  #list(path: string): readonly Json[] {
    const list: Json[] = [];
    this.#at++;
    this.#space();
    if (this.#take(']')) return list;
    for (;;) {
      list.push(this.#value(`${path}[${list.length}]`, null));
      if (this.#commaOrEnd(path, ']')) return list;
    }
  }

  /** Reads the comma between two members, or the end. @returns whether it was the end */
  #commaOrEnd(path: string, end: '}' | ']'): boolean {
    this.#space();
    if (this.#take(end)) return true;
    const comma = this.#at;
    if (!this.#take(',')) {
      const what =
        this.#at === this.#text.length ? 'the file ends too early' : 'a comma is missing';
      this.#stop(
        path,
        `${what} here`,
        `Write a comma before the next value, or close with ${end}.`,
      );
    }
    this.#space();
    if (this.#text[this.#at] === end) {
      this.#at = comma;
      this.#stop(path, `a comma stands before the closing ${end}`, 'Remove the comma.');
    }
    return false;
  }

  #string(path: string): string {
    const start = this.#at;
    let at = start + 1;
    for (; ; at++) {
      const code = this.#text.charCodeAt(at);
      if (code === 34) break;
      if (code === 92) at++;
      else if (!(code >= 32)) {
        this.#at = Math.min(at, this.#text.length);
        this.#stop(
          path,
          'a text is not closed on its line',
          'Close it with ", and write \\n for a new line.',
        );
      }
    }
    this.#at = at + 1;
    try {
      return JSON.parse(this.#text.slice(start, at + 1)) as string;
    } catch {
      this.#at = start + badEscape(this.#text.slice(start, at + 1));
      return this.#stop(path, 'this is no escape of JSON', 'Write \\\\ for a backslash itself.');
    }
  }

  #number(path: string): number {
    const pattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
    pattern.lastIndex = this.#at;
    const digits = pattern.exec(this.#text)?.[0];
    const after = this.#text[this.#at + (digits?.length ?? 0)] ?? '';
    if (digits === undefined || /[\w.+-]/.test(after)) {
      this.#stop(path, 'this is no number of JSON', 'Write digits only, without leading zeros.');
    }
    this.#at += digits.length;
    return Number(digits);
  }

  #word(path: string): Json {
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      if (/\w/.test(this.#text[this.#at + word.length] ?? '')) continue;
      this.#at += word.length;
      return value;
    }
    if (this.#at === this.#text.length) {
      return this.#stop(path, 'the file ends where a value belongs', 'Write the rest of it.');
    }
    if (this.#text[this.#at] === '/') return this.#stopComment(path);
    if (this.#text[this.#at] === "'") return this.#stopSingleQuote(path);
    return this.#stop(
      path,
      'a value belongs here',
      'Write a text in double quotes, a number, true, false, null, [ or {.',
    );
  }

  #stopKey(path: string): never {
    const char = this.#text[this.#at];
    if (char === undefined) this.#stop(path, 'the file ends too early here', 'Close it with }.');
    if (char === '/') this.#stopComment(path);
    if (char === "'") this.#stopSingleQuote(path);
    return this.#stop(path, 'a key belongs here', 'Write the key in double quotes.');
  }

  #stopComment(path: string): never {
    const remedy = 'JSON has no comments: use a key that begins with _, such as "_note".';
    return this.#stop(path, 'a comment stands here', remedy);
  }

  #stopSingleQuote(path: string): never {
    const message = 'a single quote stands here, which JSON does not know';
    return this.#stop(path, message, 'Write the text in double quotes.');
  }

  /** Skips a note at any depth, since nothing reads it. It still has to be JSON. */
  #tooDeepNote(path: string): Json {
    const start = this.#at;
    let open = 0;
    do {
      const char = this.#text[this.#at] ?? this.#stop(path, 'the file ends too early', 'Close it.');
      if (char === '"') this.#string(path);
      else this.#at++;
      open += '{['.includes(char) ? 1 : '}]'.includes(char) ? -1 : 0;
    } while (open > 0);
    try {
      JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      this.#at = start;
      this.#stop(path, 'what stands here is no JSON', 'Mend or remove it.');
    }
    return null;
  }

  #stopDeep(path: string): never {
    const message = `more than ${depthMax} levels stand inside each other`;
    const remedy = 'No configuration needs so many: remove some.';
    throw new Stop({ code: 'too_deep', path, offset: this.#at, message, remedy });
  }

  #duplicate(path: string, offset: number): void {
    const message = 'this key is written twice in one object';
    this.faults.push({ code: 'duplicate_key', path, offset, message, remedy: 'Keep one of them.' });
  }

  #stop(path: string, message: string, remedy: string): never {
    throw new Stop({ code: 'syntax', path, offset: this.#at, message, remedy });
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #space(): void {
    for (; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
    }
  }
}

/** The offset of the first escape that JSON does not know. */
function badEscape(quoted: string): number {
  const pattern = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?/g;
  for (const match of quoted.matchAll(pattern)) if (match[0].length === 1) return match.index;
  return 0;
}

/** The place of a value: offsets into the text, in UTF-16 units. */
export type Place = {
  /** Start and end of the value's key. Without a key, both are the start of the value. */
  readonly key: number;
  readonly keyEnd: number;
  readonly value: number;
  readonly end: number;
  /** The value's key; null: it has none. */
  readonly name: string | null;
  /** The members of an object or the entries of a list, in the order of the text. */
  readonly entries: readonly Place[];
};

/** A key with its start and end in the text, quotes included. */
export type Key = { readonly name: string; readonly start: number; readonly end: number };

type OpenPlace = Omit<Place, 'end' | 'entries'> & { end: number; readonly entries: OpenPlace[] };

/**
 * No field has a longer path. Without this limit, a very long key would be copied for each value
 * below it.
 */
const pathMax = 256;
/** The entries of every text, number and word. Nothing is ever added. */
const none: OpenPlace[] = [];

/** Collects the places of values in the order in which they begin. */
export class Places {
  /** A duplicate key has its last place. */
  readonly byPath = new Map<string, Place>();
  readonly #top: OpenPlace[] = [];
  #entries = this.#top;

  /** The place of the first value; null: there was none. */
  get whole(): Place | null {
    return this.#top[0] ?? null;
  }

  /**
   * Begins a value. Every value that begins before this one is closed is inside it.
   * @param holds whether the value is an object or a list
   * @returns a function that closes the value, with the offset after its end
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
