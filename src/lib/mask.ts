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
}

const lengthMin = 8;
