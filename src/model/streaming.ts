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

/** No messenger shows more in one message: of a longer text nothing more is told. */
const toldCharactersMax = 65_536;

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
    if (status !== 200 || this.#stream.said.length > toldCharactersMax) return;
    const shown = shownOf(this.#stream.said);
    if (shown === this.#last) return;
    this.#last = shown;
    this.#told(shown);
  };

  /**
   * The answer as if it had come in one piece, within the same bound.
   * @param bytesMax of an answer in one piece
   */
  whole(result: HttpResult, bytesMax: number): HttpResult {
    const whole = this.#wholeOf(result);
    if (whole.kind === 'fault' || Buffer.byteLength(whole.body) <= bytesMax) return whole;
    return { ...brokenOff, fault: 'answer_too_large' };
  }

  #wholeOf(result: HttpResult): HttpResult {
    if (result.kind === 'fault' || result.status !== 200) return result;
    const end = this.#stream.end();
    switch (end.kind) {
      case 'plain':
        return result;
      case 'cut':
        return brokenOff;
      case 'whole':
        return { ...result, body: end.body };
      default:
        return end satisfies never;
    }
  }
}

/** A stream that ends before its end. */
const brokenOff = { kind: 'fault', fault: 'connection_lost', sent: true, code: null } as const;

const beginningOfTag = /^<[a-z]{0,9}$/i;

/** What of a text that still grows may be shown. */
function shownOf(said: string): string {
  const text = withoutThinkBlock(said).trim();
  return beginningOfTag.test(text) ? '' : text;
}
