/** Hides values that no text may show, and writes a placeholder in their place. */
export class Mask {
  readonly #masked = new Set<string>();
  #pattern: RegExp | null = null;

  /**
   * From now on these values are masked, also in the forms of JSON and URLs. Values under 8
   * characters are ignored, since they occur in ordinary words.
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

  /** Masks a text that still grows. It leaves out an end that may become a value. */
  cleanGrowing(text: string): string {
    let safe = text;
    for (let end = this.#endOf(safe); end < safe.length; end = this.#endOf(safe)) {
      safe = safe.slice(0, end);
    }
    return this.clean(safe);
  }

  /** The length of the text without an end that looks like the beginning of a value. */
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
