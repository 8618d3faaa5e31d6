/**
 * How much of each prompt is the beginning of the prompt before it, in the same conversation, for
 * the same brain and model. A runtime with a cache reads that part no second time, and most local
 * runtimes do not say how much it was.
 *
 * A prompt is read as one text: the system prompt, the tools, then the lines. A record holds the
 * hash of its beginning after each 64 characters, and of the whole: numbers alone, in memory alone.
 */
import { nodeCrypto } from '../../lib/node-http.ts';
import { picturesOn, type ModelRequest, type RequestLine, type ToolNotice } from './model.ts';

const blockCharacters = 64;
/** The records of about 3,000 conversations of 16,000 characters. */
const bytesMax = 4 * 1024 * 1024;
/** What a record takes beside its hashes. */
const overheadBytes = 200;

/** Whose prompt it is. */
export type PromptOf = {
  readonly brain: string;
  readonly model: string;
  readonly conversation: string;
};

/** In characters: UTF-16 code units. */
type Prompt = { readonly length: number; readonly hash: number; readonly blocks: Uint32Array };

export class PromptRecords {
  /** Another in each process. */
  readonly #seed = Math.trunc(Math.random() * 2 ** 32);
  /** Null: it was not needed yet. */
  #secret: Buffer | null = null;
  /** The one that was used last is the last. */
  readonly #records = new Map<number, Prompt>();
  readonly #tools = new WeakMap<ToolNotice, string>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param most bytes of all records; the one that was not used for longest goes first */
  constructor(most = bytesMax) {
    this.#bytesMax = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * To be called with each prompt that is sent.
   * @returns the share of the last prompt that this one begins with, 0 to 1; null: there was none
   */
  share(of: PromptOf, request: Pick<ModelRequest, 'system' | 'tools' | 'lines'>): number | null {
    const key = this.#keyOf(of);
    const last = this.#records.get(key);
    const reading = new Reading(this.#seed, last?.length ?? 0);
    reading.add('s', request.system ?? '');
    for (const tool of request.tools) reading.add('t', this.#textOf(tool));
    for (const line of request.lines) {
      reading.add(line.role, line.text);
      const more = moreOf(line);
      if (more !== '') reading.add('+', more);
    }
    const prompt = reading.end();
    if (last !== undefined) this.#drop(key, last);
    this.#keep(key, prompt);
    return last === undefined ? null : shareOf(last, prompt, reading.hashAtLast);
  }

  /**
   * A name for the prompts of a conversation, which tells a provider nothing: it is another one
   * after a restart. It has 32 characters.
   */
  cacheKey({ brain, conversation }: Omit<PromptOf, 'model'>): string {
    const { createHmac, randomBytes } = nodeCrypto();
    this.#secret ??= randomBytes(32);
    const whose = JSON.stringify([brain, conversation]);
    return createHmac('sha256', this.#secret).update(whose).digest('base64url').slice(0, 32);
  }

  #keyOf({ brain, model, conversation }: PromptOf): number {
    const [one, other] = [this.#seed, ~this.#seed].map((seed) => {
      return hashOf(hashOf(hashOf(seed, brain) ^ 1, model) ^ 2, conversation);
    });
    // As many bits as a number holds exactly.
    return (one! >>> 0) * 2 ** 21 + (other! >>> 11);
  }

  #textOf(tool: ToolNotice): string {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const text = JSON.stringify(tool);
    this.#tools.set(tool, text);
    return text;
  }

  #keep(key: number, prompt: Prompt): void {
    this.#records.set(key, prompt);
    this.#bytes += bytesOf(prompt);
    for (const [oldest, record] of this.#records) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#drop(oldest, record);
    }
  }

  #drop(key: number, prompt: Prompt): void {
    this.#records.delete(key);
    this.#bytes -= bytesOf(prompt);
  }
}

const bytesOf = ({ blocks }: Prompt): number => overheadBytes + blocks.byteLength;

function shareOf(last: Prompt, now: Prompt, hashAtLast: number | null): number {
  if (last.length === 0 || hashAtLast === last.hash) return 1;
  const most = Math.min(last.blocks.length, now.blocks.length);
  let same = 0;
  while (same < most && last.blocks[same] === now.blocks[same]) same++;
  return (same * blockCharacters) / last.length;
}

/** Reads one prompt: each character takes the hash further. */
class Reading {
  readonly #lastLength: number;
  readonly #blocks: number[] = [];
  #hash: number;
  /** Behind the last character, without marks of empty texts behind it. */
  #hashAtEnd: number;
  #length = 0;
  /** The hash where the last prompt ended; null: this one is shorter. */
  hashAtLast: number | null = null;

  constructor(seed: number, lastLength: number) {
    this.#hash = seed;
    this.#hashAtEnd = seed;
    this.#lastLength = lastLength;
  }

  /** @param mark keeps a text apart from the same text in another place */
  add(mark: string, text: string): void {
    this.#hash = hashOf(this.#hash, mark);
    for (let at = 0; at < text.length;) {
      const end = Math.min(text.length, at + this.#charactersToNext());
      this.#hash = hashOf(this.#hash, text, at, end);
      this.#length += end - at;
      if (this.#length % blockCharacters === 0) this.#blocks.push(this.#hash >>> 0);
      if (this.#length === this.#lastLength) this.hashAtLast = this.#hash;
      at = end;
      this.#hashAtEnd = this.#hash;
    }
  }

  end(): Prompt {
    return { length: this.#length, hash: this.#hashAtEnd, blocks: Uint32Array.from(this.#blocks) };
  }

  /** Up to the end of a block, or to where the last prompt ended. */
  #charactersToNext(): number {
    const toBlock = blockCharacters - (this.#length % blockCharacters);
    const toLast = this.#lastLength - this.#length;
    return toLast > 0 ? Math.min(toBlock, toLast) : toBlock;
  }
}

/** FNV-1a, by UTF-16 code units. */
function hashOf(seed: number, text: string, from = 0, to = text.length): number {
  let hash = seed;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** What a line holds beside its text. Of pictures the sizes do. */
function moreOf(line: RequestLine): string {
  if (line.role === 'calls') {
    return JSON.stringify(line.calls.map(({ name, arguments: given }) => [name, given]));
  }
  const pictures = picturesOn(line);
  return pictures.map(({ bytes }) => `[${bytes.length}]`).join('');
}
