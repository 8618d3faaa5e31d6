import type { Message } from '../domain/message.ts';
import type { Journaled } from '../domain/tool-use.ts';

/** One call; `text` null: its end was not seen. */
type Call = { readonly tool: string; text: string | null };

/** Calls that may not be repeated, for as long as their message is held: the process is all. */
export class BegunCalls {
  readonly #calls = new WeakMap<Message, Map<string, Call>>();

  begin(message: Message, key: string, tool: string): Journaled {
    const calls = this.#calls.get(message) ?? new Map<string, Call>();
    this.#calls.set(message, calls);
    const before = calls.get(key);
    if (before === undefined) {
      calls.set(key, { tool, text: null });
      return { kind: 'run' };
    }
    const text = before.tool === tool ? before.text : null;
    return text === null ? { kind: 'unknown' } : { kind: 'done', text };
  }

  end(message: Message, key: string, text: string): void {
    const call = this.#calls.get(message)?.get(key);
    if (call !== undefined) call.text = text;
  }
}
