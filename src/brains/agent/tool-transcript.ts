import type { ModelName } from '../../domain/ids.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import type { EarlierCall } from '../../domain/tool-use.ts';
import type { RequestLine } from '../models/model.ts';
import { asData, callAsText } from './prompt.ts';

/** The length of all that one turn has found out; beyond it the oldest results give way. */
export const transcriptCharactersMax = 200_000;
const leftOut = '[left out to make room for newer results]';
const cutHere = '\n[cut: the rest is too long]';
/** A shorter rest of a result says nothing, and is not kept. */
const worthKeeping = 500;
/** At most so many calls that an earlier run began are told: the last ones. */
const recalledMax = 20;
const interrupted =
  'This turn was interrupted, and begins anew. These calls had begun before the interruption. ' +
  'The very same call is not made again: it is answered with what is known of it. Where it ' +
  'matters, tell the person what was done, and what is not known.';
/** How much is kept of what a model writes beside a call. */
const besideMax = 4_000;

/** What one answer asks for. */
export type WrittenCalls = {
  readonly calls: readonly ToolCall[];
  /** What the model wrote beside them. */
  readonly text: string;
  readonly model: ModelName;
  /** Fields that only its provider knows; undefined: none. */
  readonly extra: object | undefined;
};

/** A line, and whose model's it is; null: no model's of this turn. */
type Line = RequestLine & { readonly by?: ModelName | null };

/**
 * What a turn asked of tools and was told, as lines behind the person's message. Calls have ids
 * that are unique in the turn and arguments that are an object.
 *
 * A call goes back to the model that wrote it as a call, with all that its provider wants back.
 * Any other model is told of it in words, for it would lack just that.
 */
export class ToolTranscript {
  readonly #mark: string;
  readonly #lines: Line[] = [];
  /** The results that hold something, oldest first: their places, and lengths with their calls'. */
  #results: { at: number; characters: number; text: string }[] = [];
  #characters = 0;
  #isShort = false;
  #charactersMax: number;
  /** Words of svc's own behind results, by the ids of their calls. */
  readonly #words = new Map<string, readonly string[]>();
  /** Whose calls the results are of. */
  #by: ModelName | null = null;

  constructor(mark: string, charactersMax: number) {
    this.#mark = mark;
    this.#charactersMax = charactersMax;
  }

  /** Tells what an earlier run of this turn began, before anything is asked. */
  recalled(calls: readonly EarlierCall[]): void {
    const told = calls.slice(-recalledMax).map(({ tool, arguments: given, ending }) => {
      const end = ending === null ? 'unknown' : `${ending.outcome}: ${cut(ending.text, 500)}`;
      return `${tool} ${cut(given, 500)}\noutcome ${end}`;
    });
    this.say(
      `${interrupted}\n${asData(this.#mark, 'calls of the interrupted turn', told.join('\n'))}`,
    );
  }

  asked({ text, calls, model, extra }: WrittenCalls): void {
    this.#by = model;
    const line = { role: 'calls', text: cut(text, besideMax), calls, by: model } as const;
    this.#lines.push({ ...line, ...(extra && { extra }) });
  }

  /** A call that an earlier turn asked for. */
  followed(call: ToolCall): void {
    this.#by = null;
    this.#lines.push({ role: 'calls', text: '', calls: [call], by: null });
  }

  found(call: ToolCall, text: string): void {
    const line = { role: 'result', call, text: this.#data(call, text), by: this.#by } as const;
    const at = this.#lines.push(line) - 1;
    const characters = text.length + JSON.stringify(call.arguments).length;
    this.#results.push({ at, characters, text });
    this.#characters += characters;
    this.#makeRoom();
  }

  /** What the model wrote that was neither a call nor an answer, and svc's own word about it. */
  objected(written: string, word: string): void {
    this.#lines.push({ role: 'assistant', text: cut(written, besideMax) });
    this.say(word);
  }

  /**
   * Adds a word of svc's own to the model. Behind a result it is a part of that: Mistral takes no
   * person's line there.
   */
  say(text: string): void {
    const last = this.#lines.at(-1);
    if (last?.role !== 'result') this.#lines.push({ role: 'user', text });
    else this.#words.set(last.call.id, [...(this.#words.get(last.call.id) ?? []), text]);
  }

  /** Whether what was found, rather than `others` (so many characters), is what is long. */
  outweighs(others: number): boolean {
    return this.#characters > others;
  }

  /** Something was dropped or cut to make room. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * Gives up half of what was found, for a model that cannot read so much.
   * @returns how many characters may be found from now on; null: there is nothing to give up
   */
  halve(): number | null {
    if (this.#characters < worthKeeping) return null;
    this.#charactersMax = Math.floor(this.#characters / 2);
    this.#makeRoom();
    return this.#charactersMax;
  }

  /** In the text protocol a call and its result are what the two have said to each other. */
  linesFor(protocol: 'native' | 'text', model: ModelName): readonly RequestLine[] {
    return this.#lines.flatMap((line): readonly RequestLine[] => {
      const isOwn = line.by === undefined || line.by === model;
      if (line.role === 'calls') return protocol === 'native' && isOwn ? [withoutBy(line)] : [];
      if (line.role !== 'result') return [line];
      const text = this.#withWord(line.call, line.text);
      if (protocol === 'native') {
        const told = `This call was made: ${callAsText(line.call)}\n${text}`;
        return [isOwn ? { role: 'result', call: line.call, text } : { role: 'user', text: told }];
      }
      return [
        { role: 'assistant', text: callAsText(line.call) },
        { role: 'user', text },
      ];
    });
  }

  #withWord({ id }: ToolCall, text: string): string {
    return [text, ...(this.#words.get(id) ?? [])].join('\n\n');
  }

  /** The oldest results go first; of the newest as much is kept as fits. */
  #makeRoom(): void {
    while (this.#characters > this.#charactersMax && this.#results.length > 1) this.#dropOldest();
    const [last] = this.#results;
    if (last === undefined || this.#characters <= this.#charactersMax) return;
    const room = this.#charactersMax - (last.characters - last.text.length);
    if (room < worthKeeping) return this.#dropOldest();
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

  /** Of a call whose result is gone, only the name stays. */
  #forgetArguments(at: number): void {
    const result = this.#lines[at]!;
    if (result.role !== 'result') return;
    const { id } = result.call;
    const call = { ...result.call, arguments: {} };
    this.#lines[at] = { ...result, call };
    const asked = this.#lines.findIndex(
      (line) => line.role === 'calls' && line.calls.some((one) => one.id === id),
    );
    const line = this.#lines[asked];
    if (line?.role !== 'calls') return;
    const calls = line.calls.map((one) => (one.id === id ? call : one));
    this.#lines[asked] = { ...line, calls };
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
