/**
 * What both wires have in common. All of it is pure. What a provider sent is `unknown` until it is
 * looked at, and its words are matched here but never passed on.
 */
import { failure } from '../../domain/failure.ts';
import type { Failure } from '../../domain/failure.ts';
import { besidePrompt, cachedTokenFields, ownCallFields } from '../../domain/model-habits.ts';
import { ownFunctionFields, type EndedBy } from '../../domain/model-habits.ts';
import type { CallExtra, ToolCall, Usage } from '../../domain/outcome.ts';
import type { Picture } from '../../domain/attachment.ts';
import { hasLaterBlock, withoutThinking } from '../../domain/think-block.ts';
import { wellFormed } from '../../lib/plain-text.ts';
import { listOf, parseJson, recordOf, textOf } from './json.ts';
import { picturesOn, type ModelRequest, type ToolNotice } from './model.ts';
import { callInText, offeredName, withoutCallMarkup } from './streaming.ts';

/** What one HTTP answer says, once the wire is gone. */
export type Parsed =
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly usage: Usage | null;
      /** Fields of its line that only its provider knows; absent: none. */
      readonly extra?: object;
      /** The provider ended it at a limit of its length. */
      readonly isCut?: true;
      /** The text that its call was written as; absent: it was told as a call. */
      readonly written?: string;
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** What it told of tokens all the same; absent: nothing. */
      readonly usage?: Usage | null;
    };

type ChatMessage =
  | { role: 'system' | 'user' | 'assistant'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls: readonly object[] }
  | { role: 'tool'; content: string };

/** How a wire writes down the calls of a turn and their results, and what is shown with a text. */
export type CallWire = {
  /** @param sendsExtra as below */
  call(call: ToolCall, sendsExtra: boolean): object;
  result(call: ToolCall): object;
  /** The fields of a message in the place of its `content`. */
  shown(text: string, pictures: readonly Picture[]): object;
  /** What stands for no text beside calls: Anthropic's models take no empty one. */
  readonly noText: '' | null;
  /** Whether fields that only the provider knows go back to it. */
  readonly sendsExtra: boolean;
};

/** The request's messages; adjacent lines of one role are joined with a blank line. */
export function messagesOf({ system, lines }: ModelRequest, wire: CallWire): readonly object[] {
  const messages: ChatMessage[] = [];
  const shown = new Map<ChatMessage, readonly Picture[]>();
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
        shown.set(message, [...(shown.get(message) ?? []), ...pictures]);
      }
    }
  }
  if (shown.size === 0) return messages;
  return messages.map((message) => {
    const pictures = shown.get(message);
    if (pictures === undefined) return message;
    return { role: message.role, ...wire.shown(message.content ?? '', pictures) };
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
export function toolsOf({ tools }: Pick<ModelRequest, 'tools'>): object {
  if (tools.length === 0) return {};
  const functions = tools.map((one) => ({ type: 'function', function: one }));
  return { tools: functions };
}

/** The tools that may be called natively. */
export function callable({ tools, mayCall = true }: ModelRequest): readonly ToolNotice[] {
  return mayCall ? tools : [];
}

type AnswerParts = {
  readonly calls: readonly ToolCall[];
  readonly usage: Usage | null;
  /** What could be called. */
  readonly tools: readonly ToolNotice[];
  /** Null: at its end. */
  readonly endedBy: EndedBy | null;
  readonly extra?: object | undefined;
};

/**
 * The answer, or the failure that an answer without text is. Calls without text count only where
 * tools were offered: elsewhere a model made them up, and has said nothing. Calls beside a text are
 * told, for the text may speak of them as done.
 */
export function answerOf(content: string, parts: AnswerParts): Parsed {
  const { usage, tools, endedBy, extra } = parts;
  const ended = endedBy === null || endedBy === 'cut' ? null : failureOfEnd[endedBy];
  if (ended !== null) return { kind: 'failed', failure: failure(ended), usage };
  const said = withoutThinking(content).trim();
  const mayBeCall = parts.calls.length === 0 && !hasLaterBlock(content);
  const written = mayBeCall ? callInText(said, content, tools) : null;
  const text = written === null ? withoutCallMarkup(said) : '';
  const asked = written === null ? parts.calls : [written];
  const told = asked.map((call) => ({ ...call, name: offeredName(call.name, tools) }));
  const calls = tools.length > 0 || text !== '' ? told : [];
  if (text !== '' || calls.length > 0) {
    const isCut = endedBy === 'cut' ? { isCut: true as const } : {};
    const asText = written === null ? {} : { written: said };
    return { kind: 'answer', text, calls, usage, ...(extra && { extra }), ...isCut, ...asText };
  }
  const wrote = usage?.outputTokens ?? 0;
  const empty = failure('empty_answer', { detail: whyEmpty(endedBy, wrote) });
  // An end right at the beginning is mostly chance; one who wrote much would do so again.
  const saidNothing = content.trim() === '' && parts.calls.length === 0;
  const retryable = saidNothing && endedBy === null && wrote <= nearlyNothing;
  const isCut = endedBy === 'cut' ? { isCut: true as const } : {};
  return { kind: 'failed', failure: { ...empty, ...isCut, retryable }, usage };
}

/** In tokens. */
const nearlyNothing = 16;

/** What half a text stands for: nobody is given it. */
const failureOfEnd = {
  filtered: 'filtered',
  failed: 'server_error',
  no_room: 'overloaded',
  bad_call: 'tool_call_malformed',
} as const satisfies Record<Exclude<EndedBy, 'cut'>, Failure['kind']>;

function whyEmpty(endedBy: EndedBy | null, wrote: number): string {
  if (endedBy === 'cut') return 'it reached the limit of its length before it said anything';
  return wrote > 0 ? 'the model wrote something, but no text for the person' : 'it was empty';
}

export function failed(
  kind: Failure['kind'],
  more: { status?: number; detail?: string } = {},
): Parsed {
  return { kind: 'failed', failure: failure(kind, more) };
}

/** No call uses so many: whoever tells of more is wrong, and sums of it would not be exact. */
const tokensMax = 1_000_000_000;
const countOf = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax
    ? (value as number)
    : null;

type Fields = Readonly<Record<string, unknown>>;

/**
 * @param root the answer, which may tell of a cache
 * @param all of both: some leave what the model thought out of `output`, and it is paid for
 */
export function usageOf(
  root: Fields | null,
  input: unknown,
  output: unknown,
  all?: unknown,
): Usage | null {
  const [told, total] = [countOf(output), countOf(all)];
  const inputTokens = inputOf(recordOf(root?.['usage']), countOf(input), told, total);
  const isWhole = inputTokens === null || told === null || total === null;
  const outputTokens = isWhole ? told : Math.max(told, total - inputTokens);
  if (inputTokens === null && outputTokens === null) return null;
  const cached = inputTokens === null ? null : cachedIn(root);
  if (cached === null) return { inputTokens, outputTokens };
  return { inputTokens, outputTokens, cachedTokens: Math.min(cached, inputTokens!) };
}

/** All tokens that were read, those from a cache included. */
function inputOf(
  usage: Fields | null,
  input: number | null,
  output: number | null,
  total: number | null,
): number | null {
  if (input === null) {
    // DeepSeek counts each token of the prompt in one of the two.
    const [hit, miss] = ['hit', 'miss'].map((of) => countOf(usage?.[`prompt_cache_${of}_tokens`]));
    return hit == null || miss == null ? null : hit + miss;
  }
  const [read = 0, written = 0] = besidePrompt.map((field) => countOf(usage?.[field]) ?? 0);
  const beside = read + written;
  const isLeftOut = read > input || (beside > 0 && total === input + (output ?? 0) + beside);
  return isLeftOut ? input + beside : input;
}

/** Some tell it in several places, and 0 in one of them; null: it is told nowhere. */
function cachedIn(root: Fields | null): number | null {
  const told = cachedTokenFields.flatMap((path) => {
    let at: unknown = root;
    for (const key of path) at = recordOf(at)?.[key];
    return countOf(at) ?? [];
  });
  return told.length === 0 ? null : Math.max(...told);
}

/** Tool calls have one shape on both wires, but for the arguments, which are passed on as is. */
export function callsOf(value: unknown): readonly ToolCall[] {
  return listOf(value).flatMap((item) => {
    const call = recordOf(item);
    const asked = recordOf(call?.['function']);
    const name = textOf(asked?.['name']);
    if (name === '') return [];
    const extra = extraOfCall(call, asked);
    const id = textOf(call?.['id']);
    return [{ id, name, arguments: decodedTwice(asked?.['arguments']), ...(extra && { extra }) }];
  });
}

/** Some models encode the arguments, and their server does so once more. */
function decodedTwice(given: unknown): unknown {
  if (typeof given !== 'string' || !given.trimStart().startsWith('"')) return given;
  const inner = parseJson(given);
  return typeof inner === 'string' && recordOf(parseJson(inner)) !== null ? inner : given;
}

function extraOfCall(
  call: Readonly<Record<string, unknown>> | null,
  asked: Readonly<Record<string, unknown>> | null,
): CallExtra | undefined {
  const beside = extraOf(call, ownCallFields);
  const within = extraOf(asked, ownFunctionFields);
  if (beside === undefined && within === undefined) return undefined;
  return { call: beside ?? {}, function: within ?? {} };
}

/** Signatures of what a model thought take some kilobytes; more than this goes back to nobody. */
const extraCharactersMax = 1_000_000;

/** The fields that hold something and are not the wire's own; undefined: none. */
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

/** A text, or a list of parts: the texts of those of type `text` or `refusal`. */
export function contentOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content).map(recordOf).map(partOf).join('');
}

function partOf(part: Readonly<Record<string, unknown>> | null): string {
  const type = part?.['type'];
  return type === 'text' || type === 'refusal' ? textOf(part?.[type]) : '';
}
