/** Values that no text may show, with what stands in their place. */
export class Mask {
  readonly #masked = new Set<string>();
  #pattern: RegExp | null = null;

  /**
   * From now on these values are masked, also as JSON and URLs write them. Values under 8
   * characters are left: they hit words.
   */
  add(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length < lengthMin) continue;
      this.#masked.add(value);
      this.#masked.add(JSON.stringify(value).slice(1, -1));
      this.#masked.add(encodeURIComponent(value.toWellFormed()));
    }
    if (this.#masked.size === 0) return;
    const longestFirst = [...this.#masked].sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp(longestFirst.map((value) => RegExp.escape(value)).join('|'), 'g');
  }

  clean(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, '[secret]');
  }

  /** The same of a text that still grows, without an end that may become a value. */
  cleanGrowing(text: string): string {
    let held = text;
    for (let end = this.#endOf(held); end < held.length; end = this.#endOf(held)) {
      held = held.slice(0, end);
    }
    return this.clean(held);
  }

  /** Up to where the text does not end like the beginning of a value. */
  #endOf(text: string): number {
    let end = text.length;
    for (const value of this.#masked) {
      for (let length = Math.min(value.length - 1, text.length); length > 0; length--) {
        if (!text.endsWith(value.slice(0, length))) continue;
        end = Math.min(end, text.length - length);
        break;
      }
    }
    return end;
  }
}

const lengthMin = 8;
