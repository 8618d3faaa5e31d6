/** The tool calls of one turn and their results, as lines of the next model requests. */
import type { ModelName } from '../../domain/ids.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import type { EarlierCall } from '../../domain/tool-use.ts';
import type { RequestLine } from '../models/model.ts';
import { asData, callAsText } from './prompt.ts';

/** The most characters of all results in one turn; beyond it the oldest results are dropped. */
export const transcriptCharactersMax = 200_000;
const leftOut = '[left out to make room for newer results]';
const cutHere = '\n[cut: the rest is too long]';
/** A result with less room than this is dropped, because so short a rest is of no use. */
const usefulCharactersMin = 500;
/** The most calls of an interrupted run that the model sees: the newest ones. */
const earlierCallsMax = 20;
const interrupted =
  'This turn was interrupted, and begins anew. These calls had begun before the interruption. ' +
  'The very same call is not made again: it is answered with what is known of it. Where it ' +
  'matters, tell the person what was done, and what is not known.';
/** The most characters of a model's text beside its calls. */
const textBesideCallsMax = 4_000;

/** The tool calls of one model answer. */
export type WrittenCalls = {
  readonly calls: readonly ToolCall[];
  /** The model's text beside the calls. */
  readonly text: string;
  readonly model: ModelName;
  /** Fields that only the provider knows; undefined: none. */
  readonly extra: object | undefined;
};

/** `by`: the model that wrote the line; null: no model of this turn. */
type Line = RequestLine & { readonly by?: ModelName | null };

/**
 * The tool calls of a turn and their results, as lines after the person's message. The id of each
 * call is unique in the turn, and its arguments are an object.
 *
 * The model that wrote a call gets it back as a call, with the fields that its provider needs. All
 * other models get it as text, because they have no such fields.
 */
export class ToolTranscript {
  readonly #mark: string;
  readonly #lines: Line[] = [];
  /** Results that still have text, oldest first. `at`: the line; `characters`: with the call. */
  #results: { at: number; characters: number; text: string }[] = [];
  #characters = 0;
  #isShort = false;
  #charactersMax: number;
  /** Remarks of svc after results, by the ids of their calls. */
  readonly #remarks = new Map<string, readonly string[]>();
  /** The model that wrote the current calls. */
  #by: ModelName | null = null;

  constructor(mark: string, charactersMax: number) {
    this.#mark = mark;
    this.#charactersMax = charactersMax;
  }

  /** Adds the calls that an interrupted run of this turn began, before the first request. */
  addInterrupted(calls: readonly EarlierCall[]): void {
    const list = calls.slice(-earlierCallsMax).map(({ tool, arguments: args, ending }) => {
      const end = ending === null ? 'unknown' : `${ending.outcome}: ${cut(ending.text, 500)}`;
      return `${tool} ${cut(args, 500)}\noutcome ${end}`;
    });
    this.addRemark(
      `${interrupted}\n${asData(this.#mark, 'calls of the interrupted turn', list.join('\n'))}`,
    );
  }

  addCalls({ text, calls, model, extra }: WrittenCalls): void {
    this.#by = model;
    const line = { role: 'calls', text: cut(text, textBesideCallsMax), calls, by: model } as const;
    this.#lines.push({ ...line, ...(extra && { extra }) });
  }

  /** Adds a call that an earlier turn requested. */
  addEarlierCall(call: ToolCall): void {
    this.#by = null;
    this.#lines.push({ role: 'calls', text: '', calls: [call], by: null });
  }

  addResult(call: ToolCall, text: string): void {
    const line = { role: 'result', call, text: this.#data(call, text), by: this.#by } as const;
    const at = this.#lines.push(line) - 1;
    const characters = text.length + JSON.stringify(call.arguments).length;
    this.#results.push({ at, characters, text });
    this.#characters += characters;
    this.#makeRoom();
  }

  /** Adds a text that is neither a call nor an answer, and a remark of svc about it. */
  addUnreadable(written: string, remark: string): void {
    this.#lines.push({ role: 'assistant', text: cut(written, textBesideCallsMax) });
    this.addRemark(remark);
  }

  /**
   * Adds a remark of svc for the model. After a result it becomes a part of the result, because
   * Mistral accepts no user line there.
   */
  addRemark(text: string): void {
    const last = this.#lines.at(-1);
    if (last?.role !== 'result') this.#lines.push({ role: 'user', text });
    else this.#remarks.set(last.call.id, [...(this.#remarks.get(last.call.id) ?? []), text]);
  }

  /** Whether the results are longer than the rest of the request (in characters). */
  outweighs(rest: number): boolean {
    return this.#characters > rest;
  }

  /** Whether a result was dropped or cut to make room. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * Drops half of the results, for a model that cannot read so much.
   * @returns the new limit in characters; null: there is too little to drop
   */
  halve(): number | null {
    if (this.#characters < usefulCharactersMin) return null;
    this.#charactersMax = Math.floor(this.#characters / 2);
    this.#makeRoom();
    return this.#charactersMax;
  }

  /** In the text protocol, a call is a line of the model, and its result is a line of the user. */
  linesFor(protocol: 'native' | 'text', model: ModelName): readonly RequestLine[] {
    return this.#lines.flatMap((line): readonly RequestLine[] => {
      const isOwn = line.by === undefined || line.by === model;
      if (line.role === 'calls') return protocol === 'native' && isOwn ? [withoutBy(line)] : [];
      if (line.role !== 'result') return [line];
      const text = this.#withRemarks(line.call, line.text);
      if (protocol === 'native') {
        const callAndResult = `This call was made: ${callAsText(line.call)}\n${text}`;
        return [
          isOwn ? { role: 'result', call: line.call, text } : { role: 'user', text: callAndResult },
        ];
      }
      return [
        { role: 'assistant', text: callAsText(line.call) },
        { role: 'user', text },
      ];
    });
  }

  #withRemarks({ id }: ToolCall, text: string): string {
    return [text, ...(this.#remarks.get(id) ?? [])].join('\n\n');
  }

  /** Drops the oldest results first, then cuts the newest one to fit. */
  #makeRoom(): void {
    while (this.#characters > this.#charactersMax && this.#results.length > 1) this.#dropOldest();
    const [last] = this.#results;
    if (last === undefined || this.#characters <= this.#charactersMax) return;
    const room = this.#charactersMax - (last.characters - last.text.length);
    if (room < usefulCharactersMin) return this.#dropOldest();
    const text = cut(last.text, room) + cutHere;
    this.#rewrite(last.at, text);
    this.#results = [{ at: last.at, characters: this.#charactersMax, text }];
    this.#characters = this.#charactersMax;
  }

  #dropOldest(): void {
    const { at, characters } = this.#results.shift()!;
    this.#characters -= characters;
    this.#rewrite(at, leftOut);
    this.#forgetArguments(at);
  }

  #rewrite(at: number, text: string): void {
    this.#isShort = true;
    const line = this.#lines[at]!;
    if (line.role === 'result') {
      this.#lines[at] = { ...line, text: this.#data(line.call, text) };
    }
  }

  /** Removes the arguments of a call whose result was dropped. */
  #forgetArguments(at: number): void {
    const result = this.#lines[at]!;
    if (result.role !== 'result') return;
    const { id } = result.call;
    const call = { ...result.call, arguments: {} };
    this.#lines[at] = { ...result, call };
    const callLine = this.#lines.findIndex(
      (line) => line.role === 'calls' && line.calls.some((one) => one.id === id),
    );
    const line = this.#lines[callLine];
    if (line?.role !== 'calls') return;
    const calls = line.calls.map((one) => (one.id === id ? call : one));
    this.#lines[callLine] = { ...line, calls };
  }

  #data({ name }: ToolCall, text: string): string {
    return asData(this.#mark, `result of ${name}`, text);
  }
}

function withoutBy({ by: _by, ...line }: Line): RequestLine {
  return line;
}

/** The beginning of a text, without half a character at its end. */
function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const end = text.slice(0, charactersMax);
  return /[\uD800-\uDBFF]$/.test(end) ? end.slice(0, -1) : end;
}
