/**
 * Streamed answers, and tool calls that a model wrote as text. The parser of each runtime turns a
 * stream into the body of an unstreamed answer. All other code needs only one form.
 */
import { opensInPrompt, callMarks, type CallMark } from '../../domain/model-habits.ts';
import { mayHoldThinking, withoutGrowingMark, withoutThinking } from '../../domain/think-block.ts';
import type { HttpResult } from '../../lib/http-client/exchange.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import { parseJson, recordOf, textOf } from '../../lib/json.ts';
import type { ToolNotice } from '../../domain/completion.ts';

/** Parses the body of one answer. Each `push` adds the next part of its text. */
export interface AnswerStream {
  push(text: string): void;
  /** The model's text so far, with its thinking. */
  readonly text: string;
  /** Whether the server sent thinking in a separate field. */
  readonly hasOwnThinking: boolean;
  end(): StreamEnd;
}

/**
 * `whole`: the body of the same answer without streaming. `cut`: the stream has no end. `plain`:
 * the body is no stream, but already the answer.
 */
export type StreamEnd =
  | { readonly kind: 'whole'; readonly body: string }
  | { readonly kind: 'cut' | 'plain' };

export function wholeOf(body: object): StreamEnd {
  return { kind: 'whole', body: JSON.stringify(body) };
}

/** The most bytes of a stream; each word comes with some hundred bytes of JSON. */
export const streamBytesMax = 32 * 1024 * 1024;

/** Longer texts are not reported: no messenger shows more in one message. */
const shownCharactersMax = 65_536;

/**
 * Whether a model's text begins with thinking without an opening mark, because its chat template
 * opens the thinking in the prompt. The first answers show it; before them, the model's name
 * decides.
 */
export class ThinkingHabit {
  #begins: boolean;

  constructor(modelId: string) {
    this.#begins = opensInPrompt.test(modelId);
  }

  /** Whether no text may be shown before the end of its thinking. */
  get begins(): boolean {
    return this.#begins;
  }

  /** Called after each complete stream. */
  learn({ text, hasOwnThinking }: AnswerStream): void {
    if (text.trim() === '') return;
    const ends = mayHoldThinking(text) && withoutThinking(text).trim() !== text.trim();
    this.#begins = ends && !hasOwnThinking && !/^\s*[<◁[]/.test(text);
  }
}

/** Receives the stream of one call, and reports the text so far whenever it has grown. */
export class StreamReceiver {
  readonly #stream: AnswerStream;
  readonly #onText: (whole: string) => void;
  readonly #thinking: ThinkingHabit;
  readonly #mayCall: boolean;
  readonly #decoder = new TextDecoder();
  #last = '';

  /**
   * @param onText called with the text that may be shown, never with a model's thinking
   * @param mayCall the model may call tools, so a text that begins like a call is not shown
   */
  constructor(
    stream: AnswerStream,
    onText: (whole: string) => void,
    thinking: ThinkingHabit,
    mayCall = false,
  ) {
    this.#mayCall = mayCall;
    this.#stream = stream;
    this.#onText = onText;
    this.#thinking = thinking;
  }

  /** The HTTP client calls it with each part of the body. */
  readonly receive = (status: number, part: Buffer): void => {
    this.#stream.push(this.#decoder.decode(part, { stream: true }));
    if (status !== 200 || this.#stream.text.length > shownCharactersMax) return;
    const shown = this.#shownText();
    if (shown === this.#last) return;
    this.#last = shown;
    this.#onText(shown);
  };

  /**
   * The answer in the form without streaming, with the same size limit.
   * @param bytesMax the limit of an answer without streaming
   */
  whole(result: HttpResult, bytesMax: number): HttpResult {
    const whole = this.#wholeOf(result);
    if (whole.kind === 'fault' || Buffer.byteLength(whole.body) <= bytesMax) return whole;
    return { ...brokenOff, fault: 'answer_too_large' };
  }

  #wholeOf(result: HttpResult): HttpResult {
    if (result.kind === 'fault' || result.status !== 200) return result;
    const end = this.#stream.end();
    if (end.kind === 'whole') this.#thinking.learn(this.#stream);
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

  /** The part of the growing text that may be shown. */
  #shownText(): string {
    const { text, hasOwnThinking } = this.#stream;
    const mayHold = mayHoldThinking(text);
    if (!mayHold && this.#thinking.begins && !hasOwnThinking) return '';
    const visible = mayHold ? withoutThinking(text) : text;
    if (this.#mayCall && mayBeginCall.test(visible)) return '';
    return withoutCallMarkup(withoutGrowingMark(visible).trim());
  }
}

/** The beginning of a call in JSON without marks, perhaps in a fence; see `callInText`. */
const mayBeginCall = /^\s*(?:\[?\s*\{|\[\s*$|`{1,2}$|```(?:[jx\s]|$))/i;

/** The result of a stream that breaks off. */
const brokenOff = { kind: 'fault', fault: 'connection_lost', sent: true, code: null } as const;

// Calls that a model wrote as text, because its server does not parse the model's own form. A call
// counts only if the whole message is one call of an offered tool, so that a page that the model
// repeats runs nothing. People do not see other text in such marks. Pure functions.

type TextCall = { readonly name: string; readonly arguments: unknown };

/**
 * The tool call in a text; null: the text is no call.
 * @param message the message without its thinking
 * @param whole the message as it came; gpt-oss writes the tool's name in its channel marks
 */
export function callInText(
  message: string,
  whole: string,
  tools: readonly ToolNotice[],
): ToolCall | null {
  if (tools.length === 0) return null;
  const found = harmonyCall(whole) ?? callOf(withoutFence(inOneForm(message).trim()), tools);
  const tool = tools.find(({ name }) => name === found?.name);
  if (found === null || tool === undefined) return null;
  return { id: '', name: tool.name, arguments: found.arguments ?? {} };
}

/**
 * The offered tool that a name means. Some models write the namespace of all tools before it
 * (maki#518). Some servers leave channel marks after it (vllm#32587, ollama#12132).
 */
export function offeredName(name: string, tools: readonly ToolNotice[]): string {
  const isOffered = (one: string): boolean => tools.some((tool) => tool.name === one);
  if (isOffered(name)) return name;
  const bare = name.replace(/^\s*functions[.:]/, '').replace(/(?:<\|[^]*|:\d+)?\s*$/, '');
  return isOffered(bare) ? bare : name;
}

/** The text without blocks of calls. A block begins a line, and is not in code. */
export function withoutCallMarkup(message: string): string {
  const text = mayHoldCall(message) ? inOneForm(message) : '';
  if (!callMarks.some(({ open }) => text.includes(open))) return message;
  const lines: string[] = [];
  let fence: string | null = null;
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const lineEnd = end < 0 ? text.length : end + 1;
    const line = text.slice(at, lineEnd);
    const first = line.trimStart();
    const isCode = fence !== null || indented.test(line);
    const mark = isCode ? undefined : callMarks.find((one) => beginsBlock(first, one));
    if (mark !== undefined) {
      const close = text.indexOf(mark.close, at);
      if (close < 0) break;
      at = close + mark.close.length;
      continue;
    }
    const fenceHere = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (fence === null) fence = fenceHere;
    else if (fenceHere?.startsWith(fence) === true) fence = null;
    lines.push(line);
    at = lineEnd;
  }
  return lines.join('').trim();
}

/** A cheap test, because it runs at each word of a growing text: a block must begin a line. */
function mayHoldCall(text: string): boolean {
  return /^ {0,3}(?:<[a-z|｜‖]|\[TOOL)/m.test(text);
}

/** A line that its indentation makes code. */
const indented = /^(?: {4}|\t)/;

/** Whether the line begins a block. Words after the mark mean that the text is about the mark. */
function beginsBlock(line: string, { open, isCall }: CallMark): boolean {
  return line.startsWith(open) && (isCall === true || !words.test(line.slice(open.length)));
}

const words = /^(?:[,.;:!?)]|[ \t]+(?:[,.;:!?)–—-]|\p{L}[\p{L}'’-]*[ \t,.;:]+[^\s{[(<]))/u;

/** DeepSeek's models write one or two bars, of several kinds: command-code#909. */
function inOneForm(text: string): string {
  if (!text.includes('DSML')) return text;
  return text.replace(/<(\/?)[｜‖|]{1,2}DSML[｜‖|]{1,2}[ ]?/g, '<$1｜DSML｜');
}

function callOf(text: string, tools: readonly ToolNotice[]): TextCall | null {
  const inner = innerOf(text);
  const isMarked = inner !== text || beginsAsCall(text);
  return jsonCall(inner, tools) ?? (isMarked ? (namedJson(inner) ?? xmlCall(inner, tools)) : null);
}

function beginsAsCall(text: string): boolean {
  return callMarks.some(({ open, isCall }) => isCall === true && text.startsWith(open));
}

/** The most marks inside each other. */
const nestedMax = 3;

/** The text inside the marks around the whole text; without marks, the text itself. */
function innerOf(text: string): string {
  let inner = text;
  for (let nested = 0; nested < nestedMax; nested++) {
    const mark = callMarks.find(({ open }) => inner.startsWith(open));
    if (mark === undefined || mark.isCall === true) break;
    const { open, close } = mark;
    const end = inner.indexOf(close, open.length);
    if (end >= 0 && inner.slice(end + close.length).trim() !== '') break;
    inner = inner.slice(open.length, end < 0 ? inner.length : end).trim();
  }
  return inner;
}

const keysOfCall: ReadonlySet<string> = new Set(['name', 'arguments', 'parameters', 'type', 'id']);

/** Parses `{"name": …, "arguments": {…}}`, or a list with one such object. */
function jsonCall(text: string, tools: readonly ToolNotice[]): TextCall | null {
  if (!/^[[{]/.test(text)) return null;
  const read = parseJson(text);
  const only = Array.isArray(read) && read.length === 1 ? (read as unknown[])[0] : read;
  const outer = recordOf(only);
  const call = recordOf(outer?.['function']) ?? outer;
  if (call === null || !Object.keys(call).every((key) => keysOfCall.has(key))) return null;
  const name = textOf(call['name']);
  if (!tools.some((tool) => tool.name === name)) return null;
  const args = call['arguments'] ?? call['parameters'];
  if (args === undefined) return null;
  return { name, arguments: args };
}

/**
 * Parses a name with JSON after it. The marks of Mistral, Kimi and DeepSeek stand between them, and
 * may end in the number of the call or in a code fence.
 */
function namedJson(text: string): TextCall | null {
  const bare = text
    .replace(/^<(?:｜tool▁call▁begin｜|\|tool_call_begin\|)>\s*/, '')
    .replace(/\s*<(?:｜tool▁call▁end｜|\|tool_call_end\|)>$/, '')
    .replace(/^function<｜tool▁sep｜>/, '');
  const begin = bare.indexOf('{');
  if (begin < 0) return null;
  const head = bare
    .slice(0, begin)
    .replace(/(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|\[ARGS\])\s*$/, '')
    .replace(/\s*```(?:json)?\s*$/, '')
    .replace(/^<function=([\w.-]+)>\s*$/, '$1')
    .trim();
  const name = /^(?:functions\.)?([\w.-]+?)(?::\d+)?$/.exec(head)?.[1];
  if (name === undefined) return null;
  const json = bare.slice(begin).replace(/\s*(?:```|<\/function>)\s*$/, '');
  const args = recordOf(parseJson(json));
  return args === null ? null : { name, arguments: args };
}

/** The forms of the values of a call; each `open` contains the name of a value. */
const valueForms = [
  { open: /<parameter(?:=| name=")([\w.-]{1,200})"?[^<>]{0,200}>/g, close: '</parameter>' },
  {
    open: /<｜DSML｜parameter name="([\w.-]{1,200})"[^<>]{0,200}>/g,
    close: '</｜DSML｜parameter>',
  },
  { open: /<arg_key>([^<]*)<\/arg_key>\s*<arg_value>/g, close: '</arg_value>' },
] as const;

/** Parses `<function=…>` (Qwen), `<invoke …>` (Claude, MiniMax, DeepSeek), `<arg_key>` (GLM). */
function xmlCall(text: string, tools: readonly ToolNotice[]): TextCall | null {
  const head =
    /^<function=([\w.-]+)>/.exec(text) ??
    /^<(?:｜DSML｜)?invoke name="([\w.-]+)"[^>]*>/.exec(text) ??
    /^([\w.-]+)\s*(?=<arg_key>|$)/.exec(text);
  const name = head?.[1];
  const tool = tools.find((one) => one.name === name);
  if (head === null || name === undefined || tool === undefined) return null;
  // More than one call does not count.
  if (text.slice(head[0].length).search(/<function=|invoke name="/) >= 0) return null;
  const { values, rest } = valuesIn(text);
  // With words after it, the text only describes a call.
  if (!isBlank(rest.slice(head[0].length))) return null;
  const args: Record<string, unknown> = {};
  for (const [key, value] of values) {
    Object.defineProperty(args, key, { value: valueOf(value, key, tool), enumerable: true });
  }
  return { name, arguments: args };
}

/**
 * `rest`: the text without the values. A value without an end, and the text after it, do not count.
 */
function valuesIn(text: string): { values: Map<string, string>; rest: string } {
  const values = new Map<string, string>();
  let rest = text;
  for (const { open, close } of valueForms) {
    let [kept, from] = ['', 0];
    open.lastIndex = 0;
    for (let found = open.exec(rest); found !== null; found = open.exec(rest)) {
      const end = rest.indexOf(close, open.lastIndex);
      if (end < 0) break;
      values.set(found[1]!.trim(), rest.slice(open.lastIndex, end));
      kept += rest.slice(from, found.index);
      from = open.lastIndex = end + close.length;
    }
    rest = kept + rest.slice(from);
  }
  return { values, rest };
}

const textCallsEnds = [...callMarks.map(({ close }) => close), '</invoke>'];

function isBlank(text: string): boolean {
  return textCallsEnds.reduce((left, end) => left.replaceAll(end, ''), text).trim() === '';
}

/** In these forms every value is a text. The schema shows which of them are strings. */
function valueOf(value: string, key: string, { parameters }: ToolNotice): unknown {
  const text = value.replace(/^\r?\n|\r?\n$/g, '');
  const properties = recordOf((parameters as { properties?: unknown }).properties);
  const type = recordOf(properties?.[key])?.['type'];
  if (type === 'string') return text;
  const read = parseJson(text);
  return read === undefined ? text : read;
}

/** Parses a call of gpt-oss: a message to `functions.…` in its `commentary` channel. */
function harmonyCall(whole: string): TextCall | null {
  if (!/^\s*(?:<\|start\|>assistant\s*)?<\|channel\|>/.test(whole)) return null;
  if (whole.includes('<|channel|>final')) return null;
  const calls = [...whole.matchAll(headOfCall)];
  const [only] = calls;
  if (only === undefined || calls.length > 1) return null;
  const json = whole.slice(only.index + only[0].length).replace(/<\|(?:call|end)\|>\s*$/, '');
  const args = recordOf(parseJson(json));
  return args === null ? null : { name: only[1]!, arguments: args };
}

/** The head of a message to a tool. A head inside the text of another message does not count. */
const headOfCall = new RegExp(
  '<\\|(?:channel\\|>commentary|start\\|>assistant)[^<]{0,80}? to=functions\\.([\\w.-]+)' +
    '(?:[^<{]|<\\|(?:constrain|channel)\\|>){0,80}?<\\|message\\|>',
  'g',
);

/**
 * Whether the call is also in texts that the model has read. The model may then only repeat a page
 * or a person's text.
 * @param message the message without its thinking
 */
export function isRepeated(call: ToolCall, message: string, texts: readonly string[]): boolean {
  const argumentsText = withoutSpaces(JSON.stringify(call.arguments));
  const parts = [withoutSpaces(message), argumentsText].filter(
    ({ length }) => length >= repeatedLengthMin,
  );
  return texts.map(withoutSpaces).some((text) => parts.some((part) => text.includes(part)));
}

/** Shorter texts may be the same by chance. */
const repeatedLengthMin = 12;

const withoutSpaces = (text: string): string => text.replaceAll(/\s+/g, '');

function withoutFence(text: string): string {
  return /^```(?:json|xml)?[ \t]*\r?\n([^]*)```$/i.exec(text)?.[1]?.trim() ?? text;
}
