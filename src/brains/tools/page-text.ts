/**
 * The text of an HTML page, for reading: no markup, no scripts, a line for each block. It finds
 * tags as browsers do, but builds no tree: badly nested markup loses its layout, and nothing else.
 * Every step looks at a character a bounded number of times, whatever the page holds. A large page
 * is read in slices, so that it blocks nobody. Import it only when there is a page: its libraries
 * are heavy.
 */
import { setImmediate } from 'node:timers/promises';
import { decodeHTMLStrict } from 'entities/decode';
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

/** These elements hold nothing for a reader. */
const skipped = new Set(['script', 'style', 'template', 'svg', 'iframe', 'object']);

const blocks = new Set(
  (
    'address article aside blockquote body br dd details div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 head header hr li main nav ol option p pre section select ' +
    'summary table tbody textarea thead title tr ul'
  ).split(' '),
);

const cells = new Set(['td', 'th']);

/** A slice takes some milliseconds, whatever it holds. */
export const sliceCharacters = 16 * 1024;
/** Longer than any named character reference, with its & and semicolon. */
const nameCharactersMax = 64;

/**
 * @param page HTML, complete or its beginning
 * @param charactersMax once the text has more characters, the rest of the page is not read
 * @param pause called after each slice, so that other work can run
 */
export async function textOfPage(
  page: string,
  charactersMax = Infinity,
  pause: () => Promise<void> = setImmediate,
): Promise<string> {
  const reader = new PageReader(page);
  const tokenizer = new Tokenizer({ decodeEntities: false }, reader);
  for (let at = 0; at < page.length; at += sliceCharacters) {
    if (at > 0) await pause();
    tokenizer.write(page.slice(at, at + sliceCharacters));
    if (reader.characters > charactersMax) return reader.text();
  }
  // Closes an unfinished tag or declaration, which would be read as text otherwise.
  tokenizer.write('>');
  tokenizer.end();
  return reader.text();
}

/** Receives each part of a page by its start and end. */
class PageReader implements TokenizerCallbacks {
  readonly #page: string;
  readonly #lines = new Lines();
  /** The pending text; its parts come one after the other. */
  #text = { start: 0, end: 0 };
  #tag = '';
  /** The element that is being skipped; null: none. */
  #skipped: string | null = null;
  #preformatted = 0;

  constructor(page: string) {
    this.#page = page;
  }

  /** Characters of the text so far, at least. */
  get characters(): number {
    return this.#lines.characters;
  }

  text(): string {
    this.#flushText();
    return this.#lines.text();
  }

  ontext(start: number, end: number): void {
    if (start !== this.#text.end) this.#flushText();
    this.#text = { start: start === this.#text.end ? this.#text.start : start, end };
    if (end - this.#text.start >= sliceCharacters) this.#flushPart();
  }

  onopentagname(start: number, end: number): void {
    this.#layOut(start, end, 1);
    if (this.#skipped === null && skipped.has(this.#tag)) this.#skipped = this.#tag;
  }

  onclosetag(start: number, end: number): void {
    this.#layOut(start, end, -1);
    if (this.#skipped === this.#tag) this.#skipped = null;
  }

  /** Of the skipped elements, browsers let only an svg close itself. */
  onselfclosingtag(): void {
    if (this.#tag === 'svg' && this.#skipped === 'svg') this.#skipped = null;
  }

  oncomment(): void {}
  oncdata(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onopentagend(): void {}
  onattribname(): void {}
  onattribdata(): void {}
  onattribentity(): void {}
  onattribend(): void {}
  ontextentity(): void {}
  onend(): void {}

  #layOut(start: number, end: number, deeper: 1 | -1): void {
    this.#flushText();
    this.#tag = this.#page.slice(start, end).toLowerCase();
    if (this.#skipped !== null) return;
    if (blocks.has(this.#tag)) this.#lines.endLine();
    else if (cells.has(this.#tag)) this.#lines.add(' ', false);
    if (this.#tag === 'pre') this.#preformatted = Math.max(0, this.#preformatted + deeper);
  }

  /** Flushes a long text up to a place that splits no character reference. */
  #flushPart(): void {
    const { start, end } = this.#text;
    const mark = this.#page.lastIndexOf('&', end - 1);
    const cut = mark > Math.max(start, end - nameCharactersMax) ? mark : end;
    this.#text = { start, end: cut };
    this.#flushText();
    this.#text = { start: cut, end };
  }

  #flushText(): void {
    const { start, end } = this.#text;
    this.#text = { start: end, end };
    if (start === end || this.#skipped !== null) return;
    const text = decodeHTMLStrict(this.#page.slice(start, end));
    this.#lines.add(text.replaceAll('\u00A0', ' '), this.#preformatted > 0);
  }
}

/** Collapses white space: a run becomes one space, and at most one empty line stands in a row. */
class Lines {
  readonly #finished: string[] = [];
  #finishedCharacters = 0;
  #line = '';
  /** The length of the line, up to its last character that is not white space. */
  #trimmedLength = 0;
  #atStart = true;

  /** The least length of `text`, with one character for its end. */
  get characters(): number {
    return this.#finishedCharacters + this.#trimmedLength;
  }

  add(text: string, preformatted: boolean): void {
    if (preformatted) {
      const [first, ...more] = text.split('\n');
      this.#extend(first!);
      for (const line of more) {
        this.#end();
        this.#extend(line);
      }
      this.#atStart = text.endsWith('\n');
      return;
    }
    const plain = text.replaceAll(/[ \t\r\n\f]+/g, ' ');
    const shown = this.#atStart && plain.startsWith(' ') ? plain.slice(1) : plain;
    if (shown === '') return;
    this.#extend(shown);
    this.#atStart = shown.endsWith(' ');
  }

  endLine(): void {
    if (this.#line !== '') this.#end();
    this.#atStart = true;
  }

  text(): string {
    this.#end();
    return this.#finished.join('\n').trimEnd();
  }

  #extend(text: string): void {
    const trimmed = text.trimEnd().length;
    if (trimmed > 0) this.#trimmedLength = this.#line.length + trimmed;
    this.#line += text;
  }

  #end(): void {
    const line = this.#line.slice(0, this.#trimmedLength);
    this.#line = '';
    this.#trimmedLength = 0;
    if (line === '' && (this.#finished.at(-1) ?? '') === '') return;
    this.#finished.push(line);
    this.#finishedCharacters += line.length + 1;
  }
}
