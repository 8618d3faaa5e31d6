/**
 * What both wires have in common. All of it is pure. What a provider sent is `unknown` until it is
 * looked at, and its words are matched here but never passed on.
 */
import { failure } from '../domain/failure.ts';
import type { Failure } from '../domain/failure.ts';
import type { ToolCall, Usage } from '../domain/outcome.ts';
import type { Picture } from '../domain/attachment.ts';
import { withoutThinkBlock } from '../domain/think-block.ts';
import { wellFormed } from '../lib/well-formed.ts';
import { picturesOn, type ModelRequest } from './model.ts';

/** What one HTTP answer says, once the wire is gone. */
export type Parsed =
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly usage: Usage | null;
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** What it told of tokens all the same; absent: nothing. */
      readonly usage?: Usage | null;
    };

type ChatMessage =
  | { role: 'system' | 'user' | 'assistant'; content: string }
  | { role: 'assistant'; content: string; tool_calls: readonly object[] }
  | { role: 'tool'; content: string };

/** How a wire writes down the calls of a turn and their results, and what is shown with a text. */
export type CallWire = {
  call(call: ToolCall): object;
  result(call: ToolCall): object;
  /** The fields of a message in the place of its `content`. */
  shown(text: string, pictures: readonly Picture[]): object;
};

/** The request's messages; adjacent lines of one role are joined with a blank line. */
export function messagesOf({ system, lines }: ModelRequest, wire: CallWire): readonly object[] {
  const messages: ChatMessage[] = [];
  const shown = new Map<ChatMessage, readonly Picture[]>();
  if (system !== null) messages.push({ role: 'system', content: system.toWellFormed() });
  for (const line of lines) {
    const text = line.text.toWellFormed();
    if (line.role === 'calls') {
      const calls = line.calls.map((call) => wire.call(wellFormed(call)));
      messages.push({ role: 'assistant', content: text, tool_calls: calls });
    } else if (line.role === 'result') {
      messages.push({ role: 'tool', ...wire.result(line.call), content: text });
    } else {
      const last = messages.at(-1);
      const joins = last?.role === line.role && !('tool_calls' in last);
      if (joins) last.content += `\n\n${text}`;
      else messages.push({ role: line.role, content: text });
      const { pictures } = line;
      const message = messages.at(-1)!;
      if (pictures !== undefined) {
        shown.set(message, [...(shown.get(message) ?? []), ...pictures]);
      }
    }
  }
  if (shown.size === 0) return messages;
  return messages.map((message) => {
    const pictures = shown.get(message);
    if (pictures === undefined) return message;
    return { role: message.role, ...wire.shown(message.content, pictures) };
  });
}

/** All that a request shows. */
export function picturesOf({ lines }: Pick<ModelRequest, 'lines'>): readonly Picture[] {
  return lines.flatMap(picturesOn);
}

export function base64Of({ bytes }: Picture): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** How both wires announce tools; absent where there are none. */
export function toolsOf({ tools }: ModelRequest): object {
  if (tools.length === 0) return {};
  const functions = tools.map((one) => ({ type: 'function', function: one }));
  return { tools: functions };
}

/**
 * The answer, or the failure that an answer without text is. Calls without text count only where
 * tools were offered: elsewhere a model made them up, and has said nothing. Calls beside a text are
 * told, for the text may speak of them as done.
 */
export function answerOf(
  content: string,
  more: {
    readonly calls: readonly ToolCall[];
    readonly usage: Usage | null;
    readonly offered: boolean;
  },
): Parsed {
  const text = withoutThinkBlock(content).trim();
  const calls = more.offered || text !== '' ? more.calls : [];
  if (text !== '' || calls.length > 0) {
    return { kind: 'answer', text, calls, usage: more.usage };
  }
  const wrote = (more.usage?.outputTokens ?? 0) > 0;
  const detail = wrote ? 'the model wrote something, but no text for the person' : 'it was empty';
  return { kind: 'failed', failure: failure('empty_answer', { detail }), usage: more.usage };
}

/**
 * The failure that a status stands for, with the help of the error body's own words.
 * @param words the code, type and message of the error, as one text; they are only matched
 */
export function failureOf(status: number, words: string, retryAfterMs: number | null): Failure {
  if (status === 401 || status === 403) return failure('unauthorized', { status });
  if (status === 429) return failure('rate_limited', { status, retryAfterMs });
  if (busy.has(status)) return failure('overloaded', { status, retryAfterMs });
  if (status >= 300 && status < 400) return failure('redirected', { status });
  if (status === 413 || tooLong.test(words)) return failure('context_overflow', { status });
  if (badCall.test(words)) return failure('tool_call_malformed', { status });
  if (noTools.test(unquoted(words))) return failure('tools_unsupported', { status });
  if (status === 404) return failure('not_found', { status });
  if (status >= 500) return failure('server_error', { status, retryAfterMs });
  if (status >= 400) return failure('rejected', { status });
  return failure('malformed_answer', { status });
}

/** 408 time-out of the other side, 498 no capacity, 503 busy or loading, 529 overloaded. */
const busy = new Set([408, 498, 503, 529]);
const tooLong = new RegExp(
  [
    'context[ _](?:length|size|window)',
    'maximum (?:context|model length)',
    'prompt (?:is )?too long',
    'reduce the length',
  ].join('|'),
  'i',
);
/**
 * An error's own words, up to the first that may be its model's: such a text could take the model's
 * tools away from everybody. The first name in quotes does not end them.
 */
function unquoted(words: string): string {
  const own = words.replace(/^([\w ]{0,40})(["'`])[\w./:@-]{1,100}\2/, '$1');
  const end = own.search(/[{[`"\n]|(?<![a-z])'/i);
  return end < 0 ? own : own.slice(0, end);
}

/**
 * What an error of a request with pictures says of them: the model takes none, or its provider did
 * not take these (a content filter, a format), which says nothing of others. Null: nothing. Where
 * the request is too long, pictures are spoken of as what makes it so.
 * @param kind of the failure that it is else
 */
export function pictureFailureOf(
  kind: Failure['kind'],
  body: string,
): 'pictures_unsupported' | 'picture_refused' | null {
  if (!ofPictures.has(kind)) return null;
  const words = body.slice(0, 4_000);
  if (noSight.test(words)) return 'pictures_unsupported';
  return ofPicture.test(words) ? 'picture_refused' : null;
}

/** Of llama.cpp it is an error of the server, and of a router an endpoint that is not there. */
const ofPictures: ReadonlySet<Failure['kind']> = new Set<Failure['kind']>([
  'rejected',
  'server_error',
  'not_found',
]);

const ofPicture = /\b(?:image|picture|vision|multi-?modal)/i;

/** How Ollama, llama.cpp, LM Studio, vLLM, OpenAI, DeepSeek and routers before them say it. */
const noSight = new RegExp(
  [
    'mmproj',
    'missing data required for image',
    'image input',
    'only supported by certain models',
    "(?:not|n't) (?:support|accept|take|process) (?:any )?(?:image|vision|multi-?modal)",
    'image(?:_url|s)?(?: content| parts?)? (?:is|are) not (?:supported|enabled|available)',
    '(?:not an?|no) (?:vision|multi-?modal)',
    '(?:vision|multi-?modal)[\\w -]{0,40} not (?:supported|enabled|available|loaded)',
    'at most 0 image',
    'unknown (?:variant|part type)\\W{1,4}image_url',
    'invalid (?:value|type)\\W{1,4}image_url',
  ].join('|'),
  'i',
);

/**
 * How Ollama and others say it; a router without such an endpoint; vLLM and llama.cpp without the
 * flag.
 */
const noTools = new RegExp(
  [
    'does not support (?:tools|function)',
    'tools? (?:are|is) not supported',
    'support tool use',
    'tool choice requires',
    'tools param requires',
  ].join('|'),
  'i',
);
/** Some providers check what the model wrote as a call, and refuse their own model's answer. */
const badCall = /tool_use_failed|failed to call a function|error parsing tool call/i;

export function failed(
  kind: Failure['kind'],
  more: { status?: number; detail?: string } = {},
): Parsed {
  return { kind: 'failed', failure: failure(kind, more) };
}

/** The value as an object to look into; null for anything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** No call uses so many: whoever tells of more is wrong, and sums of it would not be exact. */
const tokensMax = 1_000_000_000;
const countOf = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax
    ? (value as number)
    : null;

/** @param all of both: some leave what the model thought out of `output`, and it is paid for */
export function usageOf(input: unknown, output: unknown, all?: unknown): Usage | null {
  const [inputTokens, told, total] = [countOf(input), countOf(output), countOf(all)];
  const isWhole = inputTokens === null || told === null || total === null;
  const outputTokens = isWhole ? told : Math.max(told, total - inputTokens);
  const usage = { inputTokens, outputTokens };
  return usage.inputTokens === null && usage.outputTokens === null ? null : usage;
}

/** Tool calls have one shape on both wires, but for the arguments, which are passed on as is. */
export function callsOf(value: unknown): readonly ToolCall[] {
  return listOf(value).flatMap((item, index) => {
    const call = recordOf(item);
    const asked = recordOf(call?.['function']);
    const name = textOf(asked?.['name']);
    if (name === '') return [];
    return [{ id: textOf(call?.['id']) || `call_${index}`, name, arguments: asked?.['arguments'] }];
  });
}
