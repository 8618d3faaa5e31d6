/**
 * Code that both wire formats share: the messages of a request, and the parts of an answer. Pure
 * functions. Data of a provider is `unknown` until it is checked. Its words are matched here, but
 * never passed on.
 */
import { failure, type Failure } from '../../domain/failure.ts';
import {
  besidePrompt,
  cachedTokenFields,
  ownCallFields,
  ownFunctionFields,
  type EndedBy,
} from '../../domain/model-habits.ts';
import type { CallExtra, ToolCall, Usage } from '../../domain/outcome.ts';
import type { Picture } from '../../domain/attachment.ts';
import { hasLaterBlock, withoutThinking } from '../../domain/think-block.ts';
import { wellFormed } from '../../lib/plain-text.ts';
import { listOf, parseJson, recordOf, textOf } from '../../lib/json.ts';
import { picturesOn, type ModelRequest } from './model.ts';
import type { ToolNotice } from '../../domain/completion.ts';
import { callInText, offeredName, withoutCallMarkup } from './streaming.ts';

/** The content of one HTTP answer, independent of the provider's format. */
export type Parsed =
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly usage: Usage | null;
      /** Fields of the message that only the provider knows; absent: none. */
      readonly extra?: object;
      /** The provider cut the answer at a length limit. */
      readonly isCut?: true;
      /** The text in which the model wrote its call; absent: the call is native. */
      readonly written?: string;
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** The reported tokens, if the failed answer has them. */
      readonly usage?: Usage | null;
    };

type ChatMessage =
  | { role: 'system' | 'user' | 'assistant'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls: readonly object[] }
  | { role: 'tool'; content: string };

/** How many names of a provider's list svc takes, and how long a name may be. */
const namesMax = 500;
const nameCharactersMax = 200;

/** The names of a list of models, without those that are no name. */
export function modelNamesOf(names: readonly unknown[]): readonly string[] {
  return names
    .map((name) => textOf(name))
    .filter((name) => name !== '' && name.length <= nameCharactersMax)
    .slice(0, namesMax);
}

/** How a wire format writes calls, their results, and pictures. */
export type CallWire = {
  /** @param sendsExtra see the field */
  call(call: ToolCall, sendsExtra: boolean): object;
  result(call: ToolCall): object;
  /** The fields of a message with pictures, instead of its `content`. */
  withPictures(text: string, pictures: readonly Picture[]): object;
  /** The content of a message with calls and no text: Anthropic's models take no empty text. */
  readonly noText: '' | null;
  /** Whether the fields that only the provider knows go back to it. */
  readonly sendsExtra: boolean;
};

/** The messages of a request. Adjacent lines of one role become one, with a blank line between. */
export function messagesOf({ system, lines }: ModelRequest, wire: CallWire): readonly object[] {
  const messages: ChatMessage[] = [];
  const picturesByMessage = new Map<ChatMessage, readonly Picture[]>();
  if (system !== null) messages.push({ role: 'system', content: system.toWellFormed() });
  for (const line of lines) {
    const text = line.text.toWellFormed();
    if (line.role === 'calls') {
      const calls = line.calls.map((call) => wire.call(wellFormed(call), wire.sendsExtra));
      const content = text === '' ? wire.noText : text;
      const extra = wire.sendsExtra ? line.extra : undefined;
      messages.push({ ...extra, role: 'assistant', content, tool_calls: calls });
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
        picturesByMessage.set(message, [...(picturesByMessage.get(message) ?? []), ...pictures]);
      }
    }
  }
  if (picturesByMessage.size === 0) return messages;
  return messages.map((message) => {
    const pictures = picturesByMessage.get(message);
    if (pictures === undefined) return message;
    return { role: message.role, ...wire.withPictures(message.content ?? '', pictures) };
  });
}

/** All pictures of a request. */
export function picturesOf({ lines }: Pick<ModelRequest, 'lines'>): readonly Picture[] {
  return lines.flatMap(picturesOn);
}

export function base64Of({ bytes }: Picture): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** The `tools` field of both formats; absent if there are none. */
export function toolsOf({ tools }: Pick<ModelRequest, 'tools'>): object {
  if (tools.length === 0) return {};
  const functions = tools.map((one) => ({ type: 'function', function: one }));
  return { tools: functions };
}

/** The tools that a model sees where the request cannot say which of them it has to call. */
export function chosenTools({
  tools,
  toolChoice,
}: Pick<ModelRequest, 'tools' | 'toolChoice'>): readonly ToolNotice[] {
  return typeof toolChoice === 'object'
    ? tools.filter(({ name }) => name === toolChoice.name)
    : tools;
}

/** The tools that the model may call natively. */
export function callable({ tools, mayCall = true }: ModelRequest): readonly ToolNotice[] {
  return mayCall ? tools : [];
}

type AnswerParts = {
  readonly calls: readonly ToolCall[];
  readonly usage: Usage | null;
  /** The tools that the model could call. */
  readonly tools: readonly ToolNotice[];
  /** Why the answer ended early; null: it is complete. */
  readonly endedBy: EndedBy | null;
  readonly extra?: object | undefined;
};

/**
 * The answer, or the failure that an answer without text means. Calls without text count only if
 * tools were offered; otherwise the model made them up, and the answer is empty. Calls beside a
 * text are kept, because the text may say that they are done.
 */
export function answerOf(content: string, parts: AnswerParts): Parsed {
  const { usage, tools, endedBy, extra } = parts;
  const endFailure = endedBy === null || endedBy === 'cut' ? null : failureOfEnd[endedBy];
  if (endFailure !== null) return { kind: 'failed', failure: failure(endFailure), usage };
  const visible = withoutThinking(content).trim();
  const mayBeCall = parts.calls.length === 0 && !hasLaterBlock(content);
  const written = mayBeCall ? callInText(visible, content, tools) : null;
  const text = written === null ? withoutCallMarkup(visible) : '';
  const allCalls = written === null ? parts.calls : [written];
  const named = allCalls.map((call) => ({ ...call, name: offeredName(call.name, tools) }));
  const calls = tools.length > 0 || text !== '' ? named : [];
  if (text !== '' || calls.length > 0) {
    const isCut = endedBy === 'cut' ? { isCut: true as const } : {};
    const asText = written === null ? {} : { written: visible };
    return { kind: 'answer', text, calls, usage, ...(extra && { extra }), ...isCut, ...asText };
  }
  const outputTokens = usage?.outputTokens ?? 0;
  const empty = failure('empty_answer', { detail: whyEmpty(endedBy, outputTokens) });
  // An end at the very beginning is mostly chance. After much output it would happen again.
  const saidNothing = content.trim() === '' && parts.calls.length === 0;
  const retryable = saidNothing && endedBy === null && outputTokens <= fewTokens;
  const isCut = endedBy === 'cut' ? { isCut: true as const } : {};
  return { kind: 'failed', failure: { ...empty, ...isCut, retryable }, usage };
}

const fewTokens = 16;

/** The failure of an answer that ended early, because nobody gets half a text. */
const failureOfEnd = {
  filtered: 'filtered',
  failed: 'server_error',
  no_room: 'overloaded',
  bad_call: 'tool_call_malformed',
} as const satisfies Record<Exclude<EndedBy, 'cut'>, Failure['kind']>;

function whyEmpty(endedBy: EndedBy | null, outputTokens: number): string {
  if (endedBy === 'cut') return 'it reached the limit of its length before it said anything';
  return outputTokens > 0
    ? 'the model wrote something, but no text for the person'
    : 'it was empty';
}

export function failed(
  kind: Failure['kind'],
  more: { status?: number; detail?: string } = {},
): Parsed {
  return { kind: 'failed', failure: failure(kind, more) };
}

/** No call uses so many tokens. A larger count is wrong, and its sums would not be exact. */
const tokensMax = 1_000_000_000;
const countOf = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax
    ? (value as number)
    : null;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The tokens that an answer reports.
 * @param root the answer, which may report tokens from a cache
 * @param all the sum; some providers leave the thinking out of `output`, though it costs money
 */
export function usageOf(
  root: Fields | null,
  input: unknown,
  output: unknown,
  all?: unknown,
): Usage | null {
  const reported = countOf(output);
  const total = countOf(all);
  const inputTokens = inputOf(recordOf(root?.['usage']), countOf(input), reported, total);
  const isIncomplete = inputTokens === null || reported === null || total === null;
  const outputTokens = isIncomplete ? reported : Math.max(reported, total - inputTokens);
  if (inputTokens === null && outputTokens === null) return null;
  const cached = inputTokens === null ? null : cachedIn(root);
  if (cached === null) return { inputTokens, outputTokens };
  return { inputTokens, outputTokens, cachedTokens: Math.min(cached, inputTokens!) };
}

/** All tokens that the model read, also those from a cache. */
function inputOf(
  usage: Fields | null,
  input: number | null,
  output: number | null,
  total: number | null,
): number | null {
  if (input === null) {
    // DeepSeek counts each token of the prompt in one of these two fields.
    const [hit, miss] = ['hit', 'miss'].map((of) => countOf(usage?.[`prompt_cache_${of}_tokens`]));
    return hit == null || miss == null ? null : hit + miss;
  }
  const [read = 0, written = 0] = besidePrompt.map((field) => countOf(usage?.[field]) ?? 0);
  const extra = read + written;
  const isLeftOut = read > input || (extra > 0 && total === input + (output ?? 0) + extra);
  return isLeftOut ? input + extra : input;
}

/** Some report it in several fields, with 0 in one of them; null: it is in no field. */
function cachedIn(root: Fields | null): number | null {
  const reported = cachedTokenFields.flatMap((path) => {
    let at: unknown = root;
    for (const key of path) at = recordOf(at)?.[key];
    return countOf(at) ?? [];
  });
  return reported.length === 0 ? null : Math.max(...reported);
}

/**
 * The tool calls, which have one shape in both formats. The arguments are passed on as they are.
 */
export function callsOf(value: unknown): readonly ToolCall[] {
  return listOf(value).flatMap((item) => {
    const call = recordOf(item);
    const calledFunction = recordOf(call?.['function']);
    const name = textOf(calledFunction?.['name']);
    if (name === '') return [];
    const extra = extraOfCall(call, calledFunction);
    const id = textOf(call?.['id']);
    return [
      {
        id,
        name,
        arguments: withoutDoubleEncoding(calledFunction?.['arguments']),
        ...(extra && { extra }),
      },
    ];
  });
}

/** Some models encode the arguments as JSON text, and their server encodes them again. */
function withoutDoubleEncoding(args: unknown): unknown {
  if (typeof args !== 'string' || !args.trimStart().startsWith('"')) return args;
  const inner = parseJson(args);
  return typeof inner === 'string' && recordOf(parseJson(inner)) !== null ? inner : args;
}

function extraOfCall(
  call: Readonly<Record<string, unknown>> | null,
  calledFunction: Readonly<Record<string, unknown>> | null,
): CallExtra | undefined {
  const ofCall = extraOf(call, ownCallFields);
  const ofFunction = extraOf(calledFunction, ownFunctionFields);
  if (ofCall === undefined && ofFunction === undefined) return undefined;
  return { call: ofCall ?? {}, function: ofFunction ?? {} };
}

/** Signatures of thinking take some kilobytes; larger fields are dropped. */
const extraCharactersMax = 1_000_000;

/** The non-empty fields that the format itself does not define; undefined: none. */
export function extraOf(
  record: Readonly<Record<string, unknown>> | null,
  own: ReadonlySet<string>,
): object | undefined {
  const fields = Object.entries(record ?? {}).filter(([key, value]) => {
    return !own.has(key) && value !== null && value !== '' && !isEmptyList(value);
  });
  if (fields.length === 0) return undefined;
  const extra = Object.fromEntries(fields);
  return JSON.stringify(extra).length > extraCharactersMax ? undefined : extra;
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The text of a content: a plain text, or the parts of type `text` or `refusal`. */
export function contentOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content).map(recordOf).map(partOf).join('');
}

function partOf(part: Readonly<Record<string, unknown>> | null): string {
  const type = part?.['type'];
  return type === 'text' || type === 'refusal' ? textOf(part?.[type]) : '';
}
