import type { ToolCall } from '../../domain/outcome.ts';
import type { RequestLine } from '../../model/model.ts';
import { asData } from './prompt.ts';

/** All results of one turn together; the oldest give way. */
const charactersMax = 200_000;
const leftOut = '[left out to make room for newer results]';

/** What a turn has asked of tools and been told, as lines behind the person's message. */
export class Findings {
  readonly #lines: RequestLine[];
  readonly #mark: string;
  readonly #results: { at: number; characters: number }[] = [];
  #characters = 0;

  /** @param lines are added to */
  constructor(lines: RequestLine[], mark: string) {
    this.#lines = lines;
    this.#mark = mark;
  }

  asked(text: string, calls: readonly ToolCall[]): void {
    this.#lines.push({ role: 'calls', text, calls });
  }

  found(call: ToolCall, text: string): void {
    const at = this.#lines.push({ role: 'result', call, text: this.#data(call, text) }) - 1;
    this.#results.push({ at, characters: text.length });
    this.#characters += text.length;
    while (this.#characters > charactersMax && this.#results.length > 1) this.#leaveOutOldest();
  }

  /** A word of svc's own to the model. */
  say(text: string): void {
    this.#lines.push({ role: 'user', text });
  }

  /** In the text protocol calls and results are what the two have said to each other. */
  linesFor(protocol: 'native' | 'text'): readonly RequestLine[] {
    if (protocol === 'native') return [...this.#lines];
    return this.#lines.map((line): RequestLine => {
      if (line.role === 'result') return { role: 'user', text: line.text };
      if (line.role !== 'calls') return line;
      const [call] = line.calls;
      const text = JSON.stringify({ tool: call?.name, arguments: call?.arguments });
      return { role: 'assistant', text };
    });
  }

  #leaveOutOldest(): void {
    const { at, characters } = this.#results.shift()!;
    const line = this.#lines[at]!;
    this.#characters -= characters;
    if (line.role === 'result') {
      this.#lines[at] = { ...line, text: this.#data(line.call, leftOut) };
    }
  }

  #data({ name }: ToolCall, text: string): string {
    return asData(this.#mark, `result of ${name}`, text);
  }
}
