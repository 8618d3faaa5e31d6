/**
 * The chunks of a streamed answer, made into the answer that it would have been in one piece.
 * Format: OpenAI chat completions, platform.openai.com/docs/api-reference/chat-streaming.
 */
import { ownCallFields, ownFunctionFields, ownLineFields } from '../../../domain/model-habits.ts';
import { listOf, parseJson, recordOf, textOf } from '../json.ts';
import { contentOf, extraOf } from '../parsing.ts';
import { wholeOf, type StreamEnd } from '../streaming.ts';

type Fields = Readonly<Record<string, unknown>>;
type Call = {
  id: string;
  name: string;
  arguments: string;
  extra: Fields;
  functionExtra: Fields;
};

export class Chunks {
  said = '';
  /** The server tells the model's thinking apart from its text. */
  hasOwnThinking = false;
  #refusal = '';
  readonly #calls: Call[] = [];
  /** The newest call of each index. */
  readonly #atIndex = new Map<number, Call>();
  #count = 0;
  #isDone = false;
  #reason = '';
  #nativeReason: unknown;
  #extra: Fields = {};
  #usage: Fields | undefined;
  #timings: unknown;
  #error: unknown;

  /**
   * One event.
   * @param event its name; absent: it has none
   */
  take(data: string, event?: string): void {
    this.#count++;
    if (data.trim() === '[DONE]') {
      this.#isDone = true;
      return;
    }
    const read = parseJson(data);
    const root = recordOf(read);
    if (root === null) {
      if (event === 'error' || /^\s*error\b/i.test(data)) this.#error = data;
      return;
    }
    if (root['error'] || event === 'error') this.#error = root['error'] ?? root;
    const choice = recordOf(listOf(root['choices'])[0]);
    // Kimi has it in the choice (pi#2017).
    const usage = recordOf(root['usage']) ?? recordOf(choice?.['usage']);
    if (usage !== null) this.#usage = usageAfter(this.#usage, usage);
    this.#timings = root['timings'] ?? this.#timings;
    if (choice === null) return this.#takeWithoutChoice(root);
    if (choice['error']) this.#error = choice['error'];
    const reason = textOf(choice['finish_reason']);
    if (reason !== '') [this.#isDone, this.#reason] = [true, reason];
    this.#nativeReason ??= choice['native_finish_reason'];
    const delta = recordOf(choice['delta']) ?? recordOf(choice['message']);
    this.said += contentOf(delta?.['content']);
    this.#refusal += textOf(delta?.['refusal']);
    const extra = extraOf(delta, ownLineFields);
    if (extra !== undefined) {
      this.hasOwnThinking ||= Object.keys(extra).some((key) => /reason|think/i.test(key));
      this.#extra = merged(this.#extra, extra as Fields);
    }
    for (const one of listOf(delta?.['tool_calls'])) this.#takeCall(one);
    const older = recordOf(delta?.['function_call']);
    if (older !== null) this.#takeCall({ function: older });
  }

  end(): StreamEnd {
    if (this.#error !== undefined) return wholeOf({ error: this.#error, usage: this.#usage });
    if (this.#count === 0) return { kind: 'plain' };
    if (!this.#isDone) return { kind: 'cut' };
    const calls = this.#calls.map((call) => {
      const { id, name, arguments: given, extra, functionExtra } = call;
      return {
        ...extra,
        id,
        type: 'function',
        function: { ...functionExtra, name, arguments: given },
      };
    });
    const message = {
      ...this.#extra,
      role: 'assistant',
      content: this.said,
      refusal: this.#refusal,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const reasons = { finish_reason: this.#reason, native_finish_reason: this.#nativeReason };
    return wholeOf({
      choices: [{ message, ...reasons }],
      usage: this.#usage,
      timings: this.#timings,
    });
  }

  /** Some send an error as an event like all others: `{"object": "error", "message": …}`. */
  #takeWithoutChoice(root: Fields): void {
    if (root['object'] === 'error' || 'detail' in root) this.#error = root;
  }

  /**
   * The arguments of a call come in pieces as well. `index` says of which, but some servers leave
   * it out, or give all calls the same, or give arguments one of their own (dirac#215).
   */
  #takeCall(one: unknown): void {
    const fields = recordOf(one);
    const asked = recordOf(fields?.['function']);
    const piece = {
      id: textOf(fields?.['id']),
      name: textOf(asked?.['name']),
      arguments: argumentsOf(asked?.['arguments']),
    };
    const index = fields?.['index'];
    const last = this.#calls.at(-1);
    const isNamed = piece.name !== '' || piece.id !== '';
    const known = typeof index === 'number' ? this.#atIndex.get(index) : last;
    let call = known ?? (isNamed ? undefined : last);
    if (call === undefined || beginsAnother(call, piece)) {
      call = { id: '', name: '', arguments: '', extra: {}, functionExtra: {} };
      this.#calls.push(call);
    }
    if (typeof index === 'number') this.#atIndex.set(index, call);
    call.id ||= piece.id;
    call.name ||= piece.name;
    call.arguments += piece.arguments;
    call.extra = merged(call.extra, extraOf(fields, ownCallFields) as Fields);
    call.functionExtra = merged(call.functionExtra, extraOf(asked, ownFunctionFields) as Fields);
  }
}

/**
 * Whether a piece is of another call than the one under its index (ollama#15457, dynamo#4723). Some
 * repeat id and name in each piece (SillyTavern#5948), or change the id alone (pool#9).
 */
function beginsAnother(call: Call, piece: Pick<Call, 'id' | 'name' | 'arguments'>): boolean {
  if (call.name === '' || piece.name === '') return false;
  if (call.id !== '' && piece.id !== '') return call.id !== piece.id;
  if (call.name !== piece.name) return true;
  return piece.arguments.startsWith('{') && recordOf(parseJson(call.arguments)) !== null;
}

/**
 * Some repeat it with every chunk: the last is that of the whole. Others tell a part in each, as
 * Portkey does of Anthropic's models on Vertex, or 0 at the end (llmio#71).
 */
function usageAfter(before: Fields | undefined, more: Fields): Fields {
  if (before === undefined) return more;
  const told = Object.entries(more).filter(([key, value]) => value || !(key in before));
  return { ...before, ...Object.fromEntries(told) };
}

/** Some give them as an object, in one piece. */
function argumentsOf(given: unknown): string {
  return typeof given === 'object' && given !== null ? JSON.stringify(given) : textOf(given);
}

/** Texts and lists grow; of all else the last counts. */
function merged(before: Fields, more: Fields | undefined): Fields {
  if (more === undefined) return before;
  const all: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(more)) {
    const known = before[key];
    if (typeof known === 'string' && typeof value === 'string') all[key] = known + value;
    else if (Array.isArray(known) && Array.isArray(value)) all[key] = joined(known, value);
    else all[key] = value;
  }
  return all;
}

/**
 * Pieces of one thought are one entry. Format: `reasoning_details`,
 * openrouter.ai/docs/use-cases/reasoning-tokens.
 */
function joined(known: readonly unknown[], more: readonly unknown[]): readonly unknown[] {
  const all = [...known];
  for (const one of more) {
    const [last, next] = [recordOf(all.at(-1)), recordOf(one)];
    const isSame =
      last !== null &&
      next !== null &&
      last['type'] === next['type'] &&
      last['index'] === next['index'] &&
      next['index'] !== undefined;
    if (!isSame) all.push(one);
    else {
      const grown = { ...last, ...next };
      for (const key of ['text', 'summary', 'data']) {
        if (key in next || key in last) grown[key] = textOf(last[key]) + textOf(next[key]);
      }
      all[all.length - 1] = grown;
    }
  }
  return all;
}
