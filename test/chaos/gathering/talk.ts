/**
 * Messages in parts, with files. Each text, file and picture has a mark of its own, which the model
 * repeats: a picture's is its size.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { sizeOf } from '../../../src/pipeline/attachments/picture/size.ts';
import { jpegOf } from '../../fake/pictures.ts';

export type File = {
  readonly kind: 'picture' | 'text' | 'voice';
  readonly mark: string;
  readonly bytes: Buffer;
};

/** `text` is its own mark; empty: no text. */
export type Said = {
  readonly person: number;
  readonly text: string;
  readonly files: readonly File[];
  /** The number of its album; null: it is in none. */
  readonly album: number | null;
  readonly isForward: boolean;
};

export type Messenger = {
  /** The parts of an album are single messages; else one message has several files. */
  readonly hasAlbums: boolean;
  say(said: Said): void;
};

export const people = 3;
/** The longest pauses between two pictures of an album, and between two parts of a burst. */
const [pictureMs, pieceMs] = [60, 120];
const marks = /\b[mfp]\d+(?:x\d+)?\b/g;

export function marksIn(text: string): string[] {
  return text.match(marks) ?? [];
}

export function markOfPicture(bytes: Uint8Array): string {
  const size = sizeOf(bytes);
  return size === null ? 'nothing' : `p${size.width}x${size.height}`;
}

export class Talk {
  readonly said: Said[] = [];
  readonly #messenger: Messenger;
  readonly #random: () => number;
  #marks = 0;
  #pictures = 0;
  #albums = 0;

  constructor(messenger: Messenger, random: () => number) {
    this.#messenger = messenger;
    this.#random = random;
  }

  /** All marks; each must be in an answer. */
  get marks(): readonly string[] {
    return this.said.flatMap(({ text, files }) => {
      return [...(text === '' ? [] : [text]), ...files.map(({ mark }) => mark)];
    });
  }

  /** Everybody sends a message in parts at once. */
  async round(): Promise<void> {
    const each = Array.from({ length: people }, (_, person) => {
      return this.#random() < 0.4 ? this.#together(person) : this.#burst(person);
    });
    await Promise.all(each);
  }

  /** Everybody sends one word. */
  greet(): void {
    for (let person = 0; person < people; person++) this.#say(person, { text: this.#mark('m') });
  }

  /** Sends the pictures of one album. */
  async #together(person: number): Promise<void> {
    const count = 2 + Math.floor(this.#random() * 3);
    if (!this.#messenger.hasAlbums) {
      const files = Array.from({ length: count }, () => this.#picture());
      return this.#say(person, { text: this.#mark('m'), files });
    }
    const [album, captioned] = [this.#albums++, this.#random() < 0.8 ? 0 : 1];
    for (let at = 0; at < count; at++) {
      const text = at === captioned ? this.#mark('m') : '';
      this.#say(person, { text, files: [this.#picture()], album });
      await pause(this.#random() * pictureMs);
    }
  }

  /** Sends a burst; one part has a file, or is a forward. */
  async #burst(person: number): Promise<void> {
    const count = 1 + Math.floor(this.#random() * 4);
    const special = Math.floor(this.#random() * count);
    for (let at = 0; at < count; at++) {
      const isForward = at === special && this.#random() < 0.2;
      const files = at === special ? [this.#file()] : [];
      this.#say(person, { text: this.#mark('m'), files, isForward });
      await pause(this.#random() * pieceMs);
    }
  }

  #say(person: number, more: Partial<Said> & { readonly text: string }): void {
    const said = { person, files: [], album: null, isForward: false, ...more };
    this.said.push(said);
    this.#messenger.say(said);
  }

  #file(): File {
    const which = this.#random();
    if (which < 0.5) return this.#picture();
    const mark = this.#mark('f');
    if (which < 0.75)
      return { kind: 'text', mark, bytes: Buffer.from(`${mark}\n${'-\n'.repeat(500)}`) };
    return { kind: 'voice', mark, bytes: Buffer.from(`OggS ${mark} ${'.'.repeat(2_000)}`) };
  }

  #picture(): File {
    const [width, height] = [8 + (this.#pictures % 40), 8 + Math.floor(this.#pictures / 40)];
    this.#pictures++;
    const bytes = Buffer.from(jpegOf(width, height));
    return { kind: 'picture', mark: `p${width}x${height}`, bytes };
  }

  #mark(kind: 'm' | 'f'): string {
    return `${kind}${this.#marks++}`;
  }
}
