/**
 * Measures how much of each prompt was already in the prompt before it, for the same conversation,
 * brain and model. A runtime with a prompt cache need not read this part again, and most local
 * runtimes do not report its size.
 *
 * A prompt counts as one text: the system prompt, the tools, then the lines. A record has the hash
 * of its beginning after each 64 characters, and the hash of the whole. It has only numbers, and
 * stays in memory.
 */
import { nodeCrypto } from '../../lib/node-http.ts';
import { picturesOn, type ModelRequest, type RequestLine } from './model.ts';
import type { ToolNotice } from '../../domain/completion.ts';

const blockCharacters = 64;
/** The records of about 3,000 conversations of 16,000 characters. */
const bytesMax = 4 * 1024 * 1024;
/** The size of a record without its hashes. */
const overheadBytes = 200;

export type PromptOf = {
  readonly brain: string;
  readonly model: string;
  readonly conversation: string;
};

/** `length` in UTF-16 code units. */
type Prompt = { readonly length: number; readonly hash: number; readonly blocks: Uint32Array };

export class PromptRecords {
  /** Different in each process. */
  readonly #seed = Math.trunc(Math.random() * 2 ** 32);
  /** Made at its first use. */
  #secret: Buffer | null = null;
  /** In the order of their last use, newest last. */
  readonly #records = new Map<number, Prompt>();
  readonly #tools = new WeakMap<ToolNotice, string>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param maxBytes the size of all records; the least recently used record is dropped first */
  constructor(maxBytes = bytesMax) {
    this.#bytesMax = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Called with each sent prompt.
   * @returns the part of the last prompt with which this one begins, 0 to 1; null: the first prompt
   */
  share(of: PromptOf, request: Pick<ModelRequest, 'system' | 'tools' | 'lines'>): number | null {
    const key = this.#keyOf(of);
    const last = this.#records.get(key);
    const promptHash = new PromptHash(this.#seed, last?.length ?? 0);
    promptHash.add('s', request.system ?? '');
    for (const tool of request.tools) promptHash.add('t', this.#textOf(tool));
    for (const line of request.lines) {
      promptHash.add(line.role, line.text);
      const extras = extrasOf(line);
      if (extras !== '') promptHash.add('+', extras);
    }
    const prompt = promptHash.end();
    if (last !== undefined) this.#drop(key, last);
    this.#keep(key, prompt);
    return last === undefined ? null : shareOf(last, prompt, promptHash.hashAtLast);
  }

  /**
   * A key for the prompts of a conversation. It reveals nothing to a provider, and changes with a
   * restart. It has 32 characters.
   */
  cacheKey({ brain, conversation }: Omit<PromptOf, 'model'>): string {
    const { createHmac, randomBytes } = nodeCrypto();
    this.#secret ??= randomBytes(32);
    const owner = JSON.stringify([brain, conversation]);
    return createHmac('sha256', this.#secret).update(owner).digest('base64url').slice(0, 32);
  }

  #keyOf({ brain, model, conversation }: PromptOf): number {
    const [one, other] = [this.#seed, ~this.#seed].map((seed) => {
      return hashOf(hashOf(hashOf(seed, brain) ^ 1, model) ^ 2, conversation);
    });
    // 53 bits, as many as a number holds exactly.
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

/** Hashes one prompt step by step. */
class PromptHash {
  readonly #lastLength: number;
  readonly #blocks: number[] = [];
  #hash: number;
  /** The hash after the last character, without the marks of empty texts after it. */
  #hashAtEnd: number;
  #length = 0;
  /** The hash at the length of the last prompt; null: this prompt is shorter. */
  hashAtLast: number | null = null;

  constructor(seed: number, lastLength: number) {
    this.#hash = seed;
    this.#hashAtEnd = seed;
    this.#lastLength = lastLength;
  }

  /** @param mark distinguishes a text from the same text in another place */
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

  /** The characters up to the end of the block, or up to the length of the last prompt. */
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

/** The calls or pictures of a line as a text. The size of a picture is enough. */
function extrasOf(line: RequestLine): string {
  if (line.role === 'calls') {
    return JSON.stringify(line.calls.map(({ name, arguments: args }) => [name, args]));
  }
  const pictures = picturesOn(line);
  return pictures.map(({ bytes }) => `[${bytes.length}]`).join('');
}
