/**
 * What a core wrote where only people look: the last words of a crash. The shell knows no secret,
 * so it takes out what has the shape of one.
 */

const linesMax = 40;
const lineLengthMax = 1_000;

/** Keys, tokens and hashes: long, and of letters and digits both. A path has its slashes. */
const shaped = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}(?![\w-])/g;
/** What colours a terminal, and whatever else is not to be seen. */
const unprintable = /\p{Cc}\[[\d;]*[A-Za-z]|[\p{Cc}\p{Bidi_Control}]+/gu;

/** A line without its control sequences, and without what may be a secret. */
export function scrubByShape(line: string): string {
  const plain = line.replaceAll(unprintable, ' ');
  return plain.replaceAll(shaped, '[secret]').slice(0, lineLengthMax);
}

/** Makes lines of a stream's text, keeps the last ones, and tells each. */
export class LastLines {
  readonly #onLine: (line: string) => void;
  #lines: string[] = [];
  #begun = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  take(text: string): void {
    const lines = (this.#begun + text).split('\n');
    this.#begun = lines.pop()!;
    // A line without an end is cut: the rest of it counts as the next one.
    if (this.#begun.length > lineLengthMax) lines.push(this.#flush());
    for (const line of lines) this.#keep(line);
  }

  /** Oldest first, with one that was not ended. */
  end(): readonly string[] {
    if (this.#begun !== '') this.#keep(this.#flush());
    return this.#lines;
  }

  #flush(): string {
    const line = this.#begun;
    this.#begun = '';
    return line;
  }

  #keep(line: string): void {
    const clean = scrubByShape(line);
    if (clean.trim() === '') return;
    this.#lines = [...this.#lines, clean].slice(-linesMax);
    this.#onLine(clean);
  }
}
