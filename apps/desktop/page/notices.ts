/**
 * The results of actions, kept until the next page shows them. The address of that page has the
 * notice's number.
 */
import type { Notice } from './frame.ts';

const keptMax = 16;

export class Notices {
  #next = 1;
  readonly #kept = new Map<string, Notice>();

  /** @returns the number of the notice */
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
