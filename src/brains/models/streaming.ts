/**
 * An answer that comes in pieces. A wire's reader makes of the pieces what the same answer would
 * have been in one, so that nothing else knows the difference.
 */
import { opensInPrompt, callMarks, type CallMark } from '../../domain/model-habits.ts';
import { mayHoldThinking, withoutGrowingMark, withoutThinking } from '../../domain/think-block.ts';
import type { HttpResult } from '../../lib/http-client.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import { parseJson, recordOf, textOf } from './json.ts';
import type { ToolNotice } from './model.ts';

/** Reads the body of one answer. Each `push` is the next of its text. */
export interface AnswerStream {
  push(text: string): void;
  /** What the model has said so far, thinking included. */
  readonly said: string;
  /** Whether the server has told any thinking apart from that. */
  readonly hasOwnThinking: boolean;
  end(): StreamEnd;
}

/**
 * `whole`: the body that the answer would have had in one piece; `cut`: it has no end; `plain`: it
 * is no stream, and its body is the answer as it stands.
 */
export type StreamEnd =
  | { readonly kind: 'whole'; readonly body: string }
  | { readonly kind: 'cut' | 'plain' };

export function wholeOf(body: object): StreamEnd {
  return { kind: 'whole', body: JSON.stringify(body) };
}

/** More of a stream is read no further: each word of it comes with some hundred bytes around it. */
export const streamBytesMax = 32 * 1024 * 1024;

/** No messenger shows more in one message: of a longer text nothing more is told. */
const toldCharactersMax = 65_536;

/**
 * Whether a model's text begins with thinking that no mark opens: its chat template opens it in the
 * prompt. Its first answers show it; until then its name has to tell.
 */
export class ThinkingHabit {
  #begins: boolean;

  constructor(modelId: string) {
    this.#begins = opensInPrompt.test(modelId);
  }

  /** Whether nothing of a text is to be shown before the end of its thinking has come. */
  get begins(): boolean {
    return this.#begins;
  }

  /** To be called with each whole text. */
  heard({ said, hasOwnThinking }: AnswerStream): void {
    if (said.trim() === '') return;
    const ends = mayHoldThinking(said) && withoutThinking(said).trim() !== said.trim();
    this.#begins = ends && !hasOwnThinking && !/^\s*[<◁[]/.test(said);
  }
}

/** Hears one call to a provider, and tells the text so far whenever it has grown. */
export class Listening {
  readonly #stream: AnswerStream;
  readonly #told: (whole: string) => void;
  readonly #thinking: ThinkingHabit;
  readonly #decoder = new TextDecoder();
  #last = '';

  /** @param told is called with what may be shown: never with a model's thinking */
  constructor(stream: AnswerStream, told: (whole: string) => void, thinking: ThinkingHabit) {
    this.#stream = stream;
    this.#told = told;
    this.#thinking = thinking;
  }

  /** For the HTTP client. */
  readonly heard = (status: number, part: Buffer): void => {
    this.#stream.push(this.#decoder.decode(part, { stream: true }));
    if (status !== 200 || this.#stream.said.length > toldCharactersMax) return;
    const shown = this.#shown();
    if (shown === this.#last) return;
    this.#last = shown;
    this.#told(shown);
  };

  /**
   * The answer as if it had come in one piece, within the same bound.
   * @param bytesMax of an answer in one piece
   */
  whole(result: HttpResult, bytesMax: number): HttpResult {
    const whole = this.#wholeOf(result);
    if (whole.kind === 'fault' || Buffer.byteLength(whole.body) <= bytesMax) return whole;
    return { ...brokenOff, fault: 'answer_too_large' };
  }

  #wholeOf(result: HttpResult): HttpResult {
    if (result.kind === 'fault' || result.status !== 200) return result;
    const end = this.#stream.end();
    if (end.kind === 'whole') this.#thinking.heard(this.#stream);
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

  /** What of a text that still grows may be shown. */
  #shown(): string {
    const { said, hasOwnThinking } = this.#stream;
    const mayHold = mayHoldThinking(said);
    if (!mayHold && this.#thinking.begins && !hasOwnThinking) return '';
    const text = mayHold ? withoutThinking(said) : said;
    return withoutCallMarkup(withoutGrowingMark(text).trim());
  }
}

/** A stream that ends before its end. */
const brokenOff = { kind: 'fault', fault: 'connection_lost', sent: true, code: null } as const;

/**
 * Calls that a model wrote as a text, since its server does not read its form. A call counts only
 * where the whole message is one call of a tool that was offered: a page that the model repeats
 * runs nothing. Everything else in such marks is left out of what people see. Pure.
 */
type Named = { readonly name: string; readonly arguments: unknown };

/**
 * @param said the message without its thinking
 * @param whole the message as it came: gpt-oss names the call beside its channels
 */
export function callInText(
  said: string,
  whole: string,
  tools: readonly ToolNotice[],
): ToolCall | null {
  if (tools.length === 0) return null;
  const found = harmonyCall(whole) ?? callOf(withoutFence(inOneForm(said).trim()), tools);
  const tool = tools.find(({ name }) => name === found?.name);
  if (found === null || tool === undefined) return null;
  return { id: '', name: tool.name, arguments: found.arguments ?? {} };
}

/**
 * The offered tool that a name stands for. Some models write where all tools are before it
 * (maki#518), and some servers leave marks of a channel behind it (vllm#32587, ollama#12132).
 */
export function offeredName(name: string, tools: readonly ToolNotice[]): string {
  const isOffered = (one: string): boolean => tools.some((tool) => tool.name === one);
  if (isOffered(name)) return name;
  const bare = name.replace(/^\s*functions[.:]/, '').replace(/(?:<\|[^]*|:\d+)?\s*$/, '');
  return isOffered(bare) ? bare : name;
}

/** The text without blocks of calls that begin a line, outside code. */
export function withoutCallMarkup(said: string): string {
  const text = mayHoldCall(said) ? inOneForm(said) : '';
  if (!callMarks.some(({ open }) => text.includes(open))) return said;
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

/** A text that grows is looked at with each of its words: what begins no line begins no block. */
function mayHoldCall(text: string): boolean {
  return /^ {0,3}(?:<[a-z|｜‖]|\[TOOL)/m.test(text);
}

/** A line of code, by its spaces. */
const indented = /^(?: {4}|\t)/;

/** Words behind a mark speak of it. */
function beginsBlock(line: string, { open, isCall }: CallMark): boolean {
  return line.startsWith(open) && (isCall === true || !words.test(line.slice(open.length)));
}

const words = /^(?:[,.;:!?)]|[ \t]+(?:[,.;:!?)–—-]|\p{L}[\p{L}'’-]*[ \t,.;:]+[^\s{[(<]))/u;

/** DeepSeek's models write their bars once or twice, and in more than one way: command-code#909. */
function inOneForm(text: string): string {
  if (!text.includes('DSML')) return text;
  return text.replace(/<(\/?)[｜‖|]{1,2}DSML[｜‖|]{1,2}[ ]?/g, '<$1｜DSML｜');
}

function callOf(text: string, tools: readonly ToolNotice[]): Named | null {
  const inner = innerOf(text);
  const isMarked = inner !== text || beginsAsCall(text);
  return jsonCall(inner, tools) ?? (isMarked ? (namedJson(inner) ?? xmlCall(inner, tools)) : null);
}

function beginsAsCall(text: string): boolean {
  return callMarks.some(({ open, isCall }) => isCall === true && text.startsWith(open));
}

/** So many marks stand in each other at most. */
const nestedMax = 3;

/** What stands in the marks around the whole text; without marks the text itself. */
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

/** `{"name": …, "arguments": {…}}`, or a list of one such. */
function jsonCall(text: string, tools: readonly ToolNotice[]): Named | null {
  if (!/^[[{]/.test(text)) return null;
  const read = parseJson(text);
  const only = Array.isArray(read) && read.length === 1 ? (read as unknown[])[0] : read;
  const outer = recordOf(only);
  const call = recordOf(outer?.['function']) ?? outer;
  if (call === null || !Object.keys(call).every((key) => keysOfCall.has(key))) return null;
  const name = textOf(call['name']);
  if (!tools.some((tool) => tool.name === name)) return null;
  const given = call['arguments'] ?? call['parameters'];
  if (given === undefined) return null;
  return { name, arguments: given };
}

/**
 * A name with JSON behind it. Between them stand marks of Mistral, Kimi and DeepSeek, which end in
 * the number of the call, in a fence, or in nothing.
 */
function namedJson(text: string): Named | null {
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
  const given = recordOf(parseJson(json));
  return given === null ? null : { name, arguments: given };
}

/** How the values of a call are written; each `open` has the name of one. */
const valueForms = [
  { open: /<parameter(?:=| name=")([\w.-]{1,200})"?[^<>]{0,200}>/g, close: '</parameter>' },
  {
    open: /<｜DSML｜parameter name="([\w.-]{1,200})"[^<>]{0,200}>/g,
    close: '</｜DSML｜parameter>',
  },
  { open: /<arg_key>([^<]*)<\/arg_key>\s*<arg_value>/g, close: '</arg_value>' },
] as const;

/** Qwen's `<function=…>`, `<invoke …>` of Claude, MiniMax and DeepSeek, GLM's `<arg_key>`. */
function xmlCall(text: string, tools: readonly ToolNotice[]): Named | null {
  const head =
    /^<function=([\w.-]+)>/.exec(text) ??
    /^<(?:｜DSML｜)?invoke name="([\w.-]+)"[^>]*>/.exec(text) ??
    /^([\w.-]+)\s*(?=<arg_key>|$)/.exec(text);
  const name = head?.[1];
  const tool = tools.find((one) => one.name === name);
  if (head === null || name === undefined || tool === undefined) return null;
  // A second call in it makes it more than one.
  if (text.slice(head[0].length).search(/<function=|invoke name="/) >= 0) return null;
  const { values, rest } = valuesIn(text);
  // Words behind it are of somebody who tells of a call.
  if (!isBlank(rest.slice(head[0].length))) return null;
  const given: Record<string, unknown> = {};
  for (const [key, value] of values) {
    Object.defineProperty(given, key, { value: valueOf(value, key, tool), enumerable: true });
  }
  return { name, arguments: given };
}

/** `rest`: the text without them. One that has no end, and all behind it, are none. */
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

/** In these forms all values are texts: the schema says which are meant as such. */
function valueOf(value: string, key: string, { parameters }: ToolNotice): unknown {
  const text = value.replace(/^\r?\n|\r?\n$/g, '');
  const properties = recordOf((parameters as { properties?: unknown }).properties);
  const type = recordOf(properties?.[key])?.['type'];
  if (type === 'string') return text;
  const read = parseJson(text);
  return read === undefined ? text : read;
}

/** gpt-oss: a message to `functions.…` in the channel of comments. */
function harmonyCall(whole: string): Named | null {
  if (!/^\s*(?:<\|start\|>assistant\s*)?<\|channel\|>/.test(whole)) return null;
  if (whole.includes('<|channel|>final')) return null;
  const calls = [...whole.matchAll(headOfCall)];
  const [only] = calls;
  if (only === undefined || calls.length > 1) return null;
  const json = whole.slice(only.index + only[0].length).replace(/<\|(?:call|end)\|>\s*$/, '');
  const given = recordOf(parseJson(json));
  return given === null ? null : { name: only[1]!, arguments: given };
}

/** The head of a message to a tool: what stands in the text of another message is none. */
const headOfCall = new RegExp(
  '<\\|(?:channel\\|>commentary|start\\|>assistant)[^<]{0,80}? to=functions\\.([\\w.-]+)' +
    '(?:[^<{]|<\\|(?:constrain|channel)\\|>){0,80}?<\\|message\\|>',
  'g',
);

/**
 * Whether such a call stands in what the model was given: then it may only repeat a page, or what a
 * person wrote.
 * @param said the message without its thinking
 */
export function isRepeated(call: ToolCall, said: string, texts: readonly string[]): boolean {
  const given = packed(JSON.stringify(call.arguments));
  const pieces = [packed(said), given].filter(({ length }) => length >= repeatedLengthMin);
  return texts.map(packed).some((text) => pieces.some((piece) => text.includes(piece)));
}

/** Shorter arguments come back by chance. */
const repeatedLengthMin = 12;

const packed = (text: string): string => text.replaceAll(/\s+/g, '');

function withoutFence(text: string): string {
  return /^```(?:json|xml)?[ \t]*\r?\n([^]*)```$/i.exec(text)?.[1]?.trim() ?? text;
}
