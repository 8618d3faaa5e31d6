/** Of so many questions the answers are kept, the last ones. */
const questionsMax = 16;

/**
 * Answers that are given again for a while, so that what is read does not grow with those who ask.
 * A read that failed is no answer to who asks next.
 */
export class Fresh<Key, Told> {
  readonly #answers = new Map<Key, { readonly at: number; readonly told: Promise<Told> }>();

  /** @param now milliseconds since 1970 */
  told(key: Key, forMs: number, now: number, read: () => Promise<Told>): Promise<Told> {
    const isFresh = ({ at }: { readonly at: number }): boolean => Math.abs(now - at) < forMs;
    const kept = this.#answers.get(key);
    if (kept !== undefined && isFresh(kept)) return kept.told;
    const answer = { at: now, told: read() };
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > questionsMax) this.#answers.delete(oldest!);
    answer.told.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return answer.told;
  }
}
