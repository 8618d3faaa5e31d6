/** What acts led to, until the page that follows them is shown: its address has the number. */
import type { Notice } from './frame.ts';

const keptMax = 16;

export class Notices {
  #next = 1;
  readonly #kept = new Map<string, Notice>();

  /** @returns its number */
  put(notice: Notice): string {
    const number = String(this.#next++);
    this.#kept.set(number, notice);
    if (this.#kept.size > keptMax) this.#kept.delete(this.#kept.keys().next().value!);
    return number;
  }

  get(number: string | null): Notice | null {
    return number === null ? null : (this.#kept.get(number) ?? null);
  }
}
