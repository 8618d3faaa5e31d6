/**
 * Where a provider's API is: at the address as it was written or, where that answers 404, at
 * another one, which is kept once the API has shown itself there.
 */
export class BaseUrl<Urls> {
  #urls: Urls;
  /** Null: there is no other, or it is known where the API is. */
  #other: Urls | null;

  constructor(urls: Urls, other: Urls | null) {
    this.#urls = urls;
    this.#other = other;
  }

  get urls(): Urls {
    return this.#urls;
  }

  /**
   * Asks there and, after a 404, at the other address once.
   * @param statusOf null: no answer came
   * @param shows whether an answer with that status shows that the API is there
   */
  async ask<Answer>(
    ask: (urls: Urls) => Promise<Answer>,
    statusOf: (answer: Answer) => number | null,
    shows: (status: number) => boolean,
  ): Promise<Answer> {
    const first = await ask(this.#urls);
    const other = this.#other;
    if (other === null || statusOf(first) !== 404) return first;
    const second = await ask(other);
    const status = statusOf(second);
    if (status !== null && shows(status)) [this.#urls, this.#other] = [other, null];
    return second;
  }
}

/** For a question: whatever is no 404 comes from the API. */
export const isFound = (status: number): boolean => status !== 404;
/** For a list: other pages answer, too. */
export const isListed = (status: number): boolean => status === 200;
