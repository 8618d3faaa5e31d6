/**
 * An answer that comes in pieces. A wire's reader makes of the pieces what the same answer would
 * have been in one, so that nothing else knows the difference.
 */
import { opensInPrompt } from '../../domain/model-habits.ts';
import { mayHoldThinking, withoutGrowingMark, withoutThinking } from '../../domain/think-block.ts';
import type { HttpResult } from '../../lib/http-client.ts';
import { withoutCallMarkup } from './text-calls.ts';

/** Reads the body of one answer. Each `push` is the next of its text. */
export interface AnswerStream {
  push(text: string): void;
  /** What the model has said so far, thinking included. */
  readonly said: string;
  /** Whether the server has told any thinking apart from that. */
  readonly hasOwnThinking: boolean;
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

/**
 * Whether a model's text begins with thinking that no mark opens: its chat template opens it in the
 * prompt. Its first answers show it; until then its name has to tell.
 */
export class ThinkingHabit {
  #begins: boolean;

  constructor(modelId: string) {
    this.#begins = opensInPrompt.test(modelId);
  }

  /** Whether nothing of a text is to be shown before the end of its thinking has come. */
  get begins(): boolean {
    return this.#begins;
  }

  /** To be called with each whole text. */
  heard({ said, hasOwnThinking }: AnswerStream): void {
    if (said.trim() === '') return;
    const ends = mayHoldThinking(said) && withoutThinking(said).trim() !== said.trim();
    this.#begins = ends && !hasOwnThinking && !/^\s*[<◁[]/.test(said);
  }
}

/** Hears one call to a provider, and tells the text so far whenever it has grown. */
export class Listening {
  readonly #stream: AnswerStream;
  readonly #told: (whole: string) => void;
  readonly #thinking: ThinkingHabit;
  readonly #decoder = new TextDecoder();
  #last = '';

  /** @param told is called with what may be shown: never with a model's thinking */
  constructor(stream: AnswerStream, told: (whole: string) => void, thinking: ThinkingHabit) {
    this.#stream = stream;
    this.#told = told;
    this.#thinking = thinking;
  }

  /** For the HTTP client. */
  readonly heard = (status: number, part: Buffer): void => {
    this.#stream.push(this.#decoder.decode(part, { stream: true }));
    if (status !== 200 || this.#stream.said.length > toldCharactersMax) return;
    const shown = this.#shown();
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
    if (end.kind === 'whole') this.#thinking.heard(this.#stream);
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

  /** What of a text that still grows may be shown. */
  #shown(): string {
    const { said, hasOwnThinking } = this.#stream;
    const mayHold = mayHoldThinking(said);
    if (!mayHold && this.#thinking.begins && !hasOwnThinking) return '';
    const text = mayHold ? withoutThinking(said) : said;
    return withoutCallMarkup(withoutGrowingMark(text).trim());
  }
}

/** A stream that ends before its end. */
const brokenOff = { kind: 'fault', fault: 'connection_lost', sent: true, code: null } as const;
