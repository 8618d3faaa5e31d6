/** A model that answers with the marks of its prompt, and checks earlier pictures. */
import type { Script } from '../../fake/model-server.ts';
import { markOfPicture, marksIn, type Talk } from './talk.ts';

type Asked = {
  readonly messages: readonly {
    readonly role: string;
    readonly content: string;
    readonly images?: readonly string[];
  }[];
};

export const thinkMsMax = 300;

export class Seer {
  /** Pictures shown with the wrong turn. */
  mistaken = 0;
  /** Pictures of earlier turns that were shown again. */
  shownAgain = 0;
  readonly #talk: Talk;
  readonly #random: () => number;

  constructor(talk: Talk, random: () => number) {
    this.#talk = talk;
    this.#random = random;
  }

  readonly script: Script = ({ body }) => {
    const { messages } = body as Asked;
    const { content, images = [] } = messages.at(-1)!;
    for (const earlier of messages.slice(0, -1)) this.#look(earlier);
    const seen = [...marksIn(content), ...images.map(markOf)];
    return { answer: `re: ${seen.join(' ')}`, delayMs: this.#random() * thinkMsMax };
  };

  #look({ content, images = [] }: Asked['messages'][number]): void {
    if (images.length === 0) return;
    const { said } = this.#talk;
    this.shownAgain += images.length;
    const marks = new Set(marksIn(content));
    const owners = said.filter(({ text }) => marks.has(text));
    const albums = new Set(owners.flatMap(({ album }) => (album === null ? [] : [album])));
    // Only its album identifies a picture without text.
    const own = said.filter(({ text, album }) => {
      return text === '' ? marks.size === 0 || albums.has(album!) : marks.has(text);
    });
    const fitting = new Set(own.flatMap(({ files }) => files.map(({ mark }) => mark)));
    const pictures = content.split('[picture: ').length - 1;
    this.mistaken += images.filter((image) => !fitting.has(markOf(image))).length;
    this.mistaken += Math.max(0, images.length - pictures);
  }
}

const markOf = (image: string): string => markOfPicture(Buffer.from(image, 'base64'));
