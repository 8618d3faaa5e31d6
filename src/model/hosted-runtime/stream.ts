/**
 * A streamed answer of a hosted runtime: server-sent events, each a chunk of the answer, the last
 * `[DONE]`. Format: OpenAI chat completions, platform.openai.com/docs/api-reference/chat-streaming.
 */
import { createParser } from 'eventsource-parser';
import { listOf, parseJson, recordOf, textOf } from '../parsing.ts';
import { contentOf } from './wire.ts';
import { wholeOf, type AnswerStream, type StreamEnd } from '../streaming.ts';

type Call = { id: string; name: string; arguments: string };

export class HostedStream implements AnswerStream {
  said = '';
  readonly #parser = createParser({ onEvent: ({ data }) => this.#take(data) });
  readonly #calls = new Map<number, Call>();
  #events = 0;
  #isDone = false;
  #usage: unknown;
  #error: unknown;

  push(text: string): void {
    this.#parser.feed(text);
  }

  end(): StreamEnd {
    // The last event may lack the empty line behind it.
    this.#parser.feed('\n\n');
    if (this.#error !== undefined) return wholeOf({ error: this.#error, usage: this.#usage });
    if (this.#events === 0) return { kind: 'plain' };
    if (!this.#isDone) return { kind: 'cut' };
    const calls = [...this.#calls.values()].map(({ id, name, arguments: given }) => {
      return { id, type: 'function', function: { name, arguments: given } };
    });
    const message = {
      role: 'assistant',
      content: this.said,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return wholeOf({ choices: [{ message }], usage: this.#usage });
  }

  #take(data: string): void {
    this.#events++;
    if (data.trim() === '[DONE]') {
      this.#isDone = true;
      return;
    }
    const root = recordOf(parseJson(data));
    if (root === null) return;
    if (root['error']) this.#error = root['error'];
    // Some repeat it with every chunk; the last is that of the whole.
    if (recordOf(root['usage']) !== null) this.#usage = root['usage'];
    const choice = recordOf(listOf(root['choices'])[0]);
    if (choice === null) return;
    if (textOf(choice['finish_reason']) !== '') this.#isDone = true;
    const delta = recordOf(choice['delta']) ?? recordOf(choice['message']);
    this.said += contentOf(delta?.['content']);
    for (const one of listOf(delta?.['tool_calls'])) this.#takeCall(one);
  }

  /** The arguments of a call come in pieces as well; `index` says of which. */
  #takeCall(one: unknown): void {
    const piece = recordOf(one);
    const asked = recordOf(piece?.['function']);
    const told = piece?.['index'];
    const index = typeof told === 'number' ? told : this.#calls.size;
    const call = this.#calls.get(index) ?? { id: '', name: '', arguments: '' };
    this.#calls.set(index, {
      id: call.id || textOf(piece?.['id']),
      name: call.name || textOf(asked?.['name']),
      arguments: call.arguments + textOf(asked?.['arguments']),
    });
  }
}
