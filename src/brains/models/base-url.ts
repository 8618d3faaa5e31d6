/**
 * Finds a provider's API: at `base_url` as it is written, or else at the address without its
 * ending. It keeps the second address after the first answer of the API from there.
 */
import { errorWords } from '../../domain/model-habits.ts';
import { errorIn, withoutMark } from './errors.ts';

export class BaseUrl<Urls> {
  #urls: Urls;
  /** Null: there is no other address, or the API's address is known. */
  #other: Urls | null;

  constructor(urls: Urls, other: Urls | null) {
    this.#urls = urls;
    this.#other = other;
  }

  get urls(): Urls {
    return this.#urls;
  }

  /**
   * Asks at the first address. If the answer is not the API's, it asks once at the other.
   * @param answerOf null: no answer came
   * @param shows whether an answer shows that the API is there
   */
  async ask<Result>(
    ask: (urls: Urls) => Promise<Result>,
    answerOf: (result: Result) => Answer | null,
    shows: (answer: Answer) => boolean,
  ): Promise<Result> {
    const first = await ask(this.#urls);
    const other = this.#other;
    const answer = answerOf(first);
    if (other === null || answer === null || isThere(answer)) return first;
    const second = await ask(other);
    const found = answerOf(second);
    if (found !== null && shows(found)) [this.#urls, this.#other] = [other, null];
    return second;
  }
}

type Answer = { readonly status: number; readonly body: string };

/** For a chat request: every answer is the API's unless it denies the path. */
export function isThere({ status, body }: Answer): boolean {
  if (status === 404 || status === 405) return false;
  return status !== 200 || !errorWords.noPath.test(errorIn(withoutMark(body)).words);
}

/** For a list of models: a web page may answer, too, so only a 200 counts. */
export const isListed = (answer: Answer): boolean => answer.status === 200 && isThere(answer);
