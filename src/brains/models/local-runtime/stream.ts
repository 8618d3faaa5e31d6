/**
 * A streamed answer of the local runtime: a JSON object in each line, the last with `done`.
 * Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
import { ownLineFields } from '../../../domain/model-habits.ts';
import { listOf, parseJson, recordOf, textOf } from '../json.ts';
import { extraOf } from '../parsing.ts';
import { wholeOf, type AnswerStream, type StreamEnd } from '../streaming.ts';

export class LocalStream implements AnswerStream {
  said = '';
  /** The server tells the model's thinking apart from its text. */
  hasOwnThinking = false;
  #thinking = '';
  #extra: object = {};
  #line = '';
  #last: Readonly<Record<string, unknown>> = {};
  readonly #calls: unknown[] = [];
  #isDone = false;
  #error: unknown;

  /** The fields of its lines so far; of each the last counts. */
  get fields(): Readonly<Record<string, unknown>> {
    return this.#last;
  }

  push(text: string): void {
    const [first = '', ...lines] = text.split('\n');
    this.#line += first;
    for (const line of lines) {
      this.#take(this.#line);
      this.#line = line;
    }
  }

  end(): StreamEnd {
    this.#take(this.#line);
    this.#line = '';
    if (this.#error !== undefined) return wholeOf({ ...this.#last, error: this.#error });
    if (!this.#isDone) return { kind: Object.keys(this.#last).length === 0 ? 'plain' : 'cut' };
    const message = {
      ...this.#extra,
      ...(this.hasOwnThinking && { thinking: this.#thinking }),
      role: 'assistant',
      content: this.said,
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    };
    return wholeOf({ ...this.#last, message });
  }

  #take(line: string): void {
    const root = recordOf(parseJson(line.replace(/^data:/, '')));
    if (root === null) return;
    // What one line says of a vendor stays said.
    this.#last = { ...this.#last, ...root };
    // Of a call that it cannot parse the words are the key (ollama#11781).
    const named = Object.entries(root).find(([key]) => key.startsWith('error '));
    if (root['error'] || named) this.#error = root['error'] ?? named!.join(': ');
    if (root['done'] === true) this.#isDone = true;
    const message = recordOf(root['message']);
    this.said += textOf(message?.['content']);
    this.#extra = { ...this.#extra, ...extraOf(message, ownLineFields) };
    const thinking = textOf(message?.['thinking']);
    this.#thinking += thinking;
    this.hasOwnThinking ||= thinking !== '';
    // One by one: a server may list more of them than a call takes arguments.
    for (const call of listOf(message?.['tool_calls'])) this.#calls.push(call);
  }
}
