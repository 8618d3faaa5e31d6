/**
 * The text of an HTML page, for reading: no markup, no scripts, a line for each block. Tags are
 * found as browsers find them, but no tree is made of them: what is badly nested loses its layout,
 * and nothing else. Every step looks at a character a bounded number of times, whatever the page
 * holds. To be imported when there is a page: its libraries are heavy.
 */
import { decodeHTMLStrict } from 'entities/decode';
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

/** Between the start and the end tag of these stands nothing for a reader. */
const skipped = new Set(['script', 'style', 'template', 'svg', 'iframe', 'object']);

const blocks = new Set(
  (
    'address article aside blockquote body br dd details div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 head header hr li main nav ol option p pre section select ' +
    'summary table tbody textarea thead title tr ul'
  ).split(' '),
);

const cells = new Set(['td', 'th']);

/** @param page HTML, whole or its beginning */
export function textOfPage(page: string): string {
  const reader = new PageReader(page);
  const tokenizer = new Tokenizer({ decodeEntities: false }, reader);
  // Ends a tag or a declaration that does not end, which would be read as text otherwise.
  tokenizer.write(`${page}>`);
  tokenizer.end();
  return reader.text();
}

/** Hears of each part of a page by where it begins and ends. */
class PageReader implements TokenizerCallbacks {
  readonly #page: string;
  readonly #out = new Lines();
  /** The text that was heard so far; its parts come one after the other. */
  #text = { start: 0, end: 0 };
  #tag = '';
  /** The tag whose end is waited for; null: none. */
  #skipped: string | null = null;
  #preformatted = 0;

  constructor(page: string) {
    this.#page = page;
  }

  text(): string {
    this.#endText();
    return this.#out.text();
  }

  ontext(start: number, end: number): void {
    if (start !== this.#text.end) this.#endText();
    this.#text = { start: start === this.#text.end ? this.#text.start : start, end };
  }

  onopentagname(start: number, end: number): void {
    this.#layOut(start, end, 1);
    if (this.#skipped === null && skipped.has(this.#tag)) this.#skipped = this.#tag;
  }

  onclosetag(start: number, end: number): void {
    this.#layOut(start, end, -1);
    if (this.#skipped === this.#tag) this.#skipped = null;
  }

  /** Among the skipped elements, browsers let only an svg end so. */
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
    this.#endText();
    this.#tag = this.#page.slice(start, end).toLowerCase();
    if (this.#skipped !== null) return;
    if (blocks.has(this.#tag)) this.#out.endLine();
    else if (cells.has(this.#tag)) this.#out.add(' ', false);
    if (this.#tag === 'pre') this.#preformatted = Math.max(0, this.#preformatted + deeper);
  }

  #endText(): void {
    const { start, end } = this.#text;
    this.#text = { start: end, end };
    if (start === end || this.#skipped !== null) return;
    const text = decodeHTMLStrict(this.#page.slice(start, end));
    this.#out.add(text.replaceAll('\u00A0', ' '), this.#preformatted > 0);
  }
}

/** Runs of white space are one space, empty lines at most one in a row. */
class Lines {
  readonly #parts: string[] = [];
  #atStart = true;

  add(text: string, preformatted: boolean): void {
    if (preformatted) {
      this.#parts.push(text);
      this.#atStart = text.endsWith('\n');
      return;
    }
    const plain = text.replaceAll(/[ \t\r\n\f]+/g, ' ');
    const shown = this.#atStart && plain.startsWith(' ') ? plain.slice(1) : plain;
    if (shown === '') return;
    this.#parts.push(shown);
    this.#atStart = shown.endsWith(' ');
  }

  endLine(): void {
    if (this.#parts.length > 0 && !this.#parts.at(-1)!.endsWith('\n')) this.#parts.push('\n');
    this.#atStart = true;
  }

  text(): string {
    const lines = this.#parts.join('').split('\n');
    const kept: string[] = [];
    for (const line of lines) {
      const trimmed = line.trimEnd();
      if (trimmed !== '' || (kept.length > 0 && kept.at(-1) !== '')) kept.push(trimmed);
    }
    return kept.join('\n').trimEnd();
  }
}
