/**
 * Where a provider's API is: at the address as it was written or, where that is not the API's, at
 * another one, which is kept once the API has shown itself there.
 */
import { errorWords } from '../domain/model-habits.ts';
import { errorIn, withoutMark } from './errors.ts';

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
   * Asks there and, where the answer is none of the API, at the other address once.
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

/** For a question: whatever does not deny its path comes from the API. */
export function isThere({ status, body }: Answer): boolean {
  if (status === 404 || status === 405) return false;
  return status !== 200 || !errorWords.noPath.test(errorIn(withoutMark(body)).words);
}

/** For a list: other pages answer, too. */
export const isListed = (answer: Answer): boolean => answer.status === 200 && isThere(answer);
