/**
 * An answer that comes in pieces. A wire's reader makes of the pieces what the same answer would
 * have been in one, so that nothing else knows the difference.
 */
import { withoutThinkBlock } from '../domain/think-block.ts';
import type { HttpResult } from '../lib/http-client.ts';

/** Reads the body of one answer. Each `push` is the next of its text. */
export interface AnswerStream {
  push(text: string): void;
  /** What the model has said so far, thinking included. */
  readonly said: string;
  end(): StreamEnd;
}

/**
 * `whole`: the body that the answer would have had in one piece; `cut`: it has no end; `plain`: it
 * is no stream, and its body is the answer as it stands.
 */
export type StreamEnd =
  | { readonly kind: 'whole'; readonly body: string }
  | { readonly kind: 'cut' | 'plain' };

export function wholeOf(body: object): StreamEnd {
  return { kind: 'whole', body: JSON.stringify(body) };
}

/** More of a stream is read no further: each word of it comes with some hundred bytes around it. */
export const streamBytesMax = 32 * 1024 * 1024;

/** Hears one call to a provider, and tells the text so far whenever it has grown. */
export class Listening {
  readonly #stream: AnswerStream;
  readonly #told: (whole: string) => void;
  readonly #decoder = new TextDecoder();
  #last = '';

  /** @param told is called with what may be shown: never with a model's thinking */
  constructor(stream: AnswerStream, told: (whole: string) => void) {
    this.#stream = stream;
    this.#told = told;
  }

  /** For the HTTP client. */
  readonly heard = (status: number, part: Buffer): void => {
    this.#stream.push(this.#decoder.decode(part, { stream: true }));
    if (status !== 200) return;
    const shown = shownOf(this.#stream.said);
    if (shown === this.#last) return;
    this.#last = shown;
    this.#told(shown);
  };

  /** The answer as if it had come in one piece; null: it broke off. */
  whole(result: HttpResult): HttpResult | null {
    if (result.kind === 'fault') return result;
    if (result.status !== 200) return result;
    const end = this.#stream.end();
    if (end.kind === 'plain') return result;
    return end.kind === 'whole' ? { ...result, body: end.body } : null;
  }
}

const beginningOfTag = /^<[a-z]{0,9}$/i;

/** What of a text that still grows may be shown. */
function shownOf(said: string): string {
  const text = withoutThinkBlock(said).trim();
  return beginningOfTag.test(text) ? '' : text;
}
