/** A streamed answer of a hosted runtime: server-sent events that end with `[DONE]`. */
import { createParser } from 'eventsource-parser';
import type { AnswerStream, StreamEnd } from '../streaming.ts';
import { Chunks } from './wire.ts';

export class HostedStream implements AnswerStream {
  readonly #chunks = new Chunks();
  readonly #parser = createParser({
    onEvent: ({ data, event }) => this.#chunks.take(data, event),
  });

  get text(): string {
    return this.#chunks.text;
  }

  get hasOwnThinking(): boolean {
    return this.#chunks.hasOwnThinking;
  }

  push(text: string): void {
    this.#parser.feed(text);
  }

  end(): StreamEnd {
    // The last event may lack its empty line.
    this.#parser.feed('\n\n');
    return this.#chunks.end();
  }
}
