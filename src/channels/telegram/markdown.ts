/**
 * Turns Markdown, as models write it, into text with entities
 * (https://core.telegram.org/bots/api#messageentity). So no character of an answer can break its
 * formatting. Markdown without an entity stays readable: a heading is bold, a list has bullets, a
 * table keeps its own text in fixed width.
 *
 * Every character carries its own styles, and an entity is a run of one style. So entities never
 * cross, and code is inside no other entity. The text is longer than the Markdown at most by the
 * indents of its bullets.
 */
import type { Token, Tokens } from 'marked';

/** The position in UTF-16 units, and the style. */
export type Entity = { readonly offset: number; readonly length: number } & (
  | { readonly type: Exclude<Style, 'text_link' | 'pre'> }
  | { readonly type: 'text_link'; readonly url: string }
  | { readonly type: 'pre'; readonly language?: string }
);

export type Formatted = { readonly text: string; readonly entities: readonly Entity[] };

type Style = 'bold' | 'italic' | 'strikethrough' | 'code' | 'pre' | 'text_link' | 'blockquote';
type Styles = Readonly<Partial<Record<Style, string>>>;

/** Telegram drops entities beyond the first hundred. */
const entitiesMax = 100;

export type Lexer = {
  readonly tokens: (markdown: string) => readonly Token[];
  /** Replaces HTML's character references; marked's tokens keep them as written. */
  readonly decoded: (text: string) => string;
};

/** Loads marked's lexer, so that a service without a messenger does not pay for it. */
export async function loadLexer(): Promise<Lexer> {
  const [{ lexer }, { decodeHTMLStrict }] = await Promise.all([
    import('marked'),
    import('entities/decode'),
  ]);
  return { tokens: (markdown) => lexer(markdown), decoded: (text) => decodeHTMLStrict(text) };
}

export function format(markdown: string, lexer: Lexer): Formatted {
  const writer = new Writer(lexer.decoded);
  writer.blocks(lexer.tokens(markdown), {}, '');
  return writer.finish();
}

type Run = { readonly end: number; readonly styles: Styles };

class Writer {
  #text = '';
  readonly #runs: Run[] = [];
  readonly #decoded: Lexer['decoded'];

  constructor(decoded: Lexer['decoded']) {
    this.#decoded = decoded;
  }

  finish(): Formatted {
    const text = this.#text.trimEnd();
    const entities = (['bold', 'italic', 'strikethrough', 'code', 'pre', 'text_link'] as const)
      .flatMap((style) => this.#spansOf(style, text.length))
      .concat(this.#spansOf('blockquote', text.length))
      .sort((a, b) => a.offset - b.offset || b.length - a.length)
      .slice(0, entitiesMax);
    return { text, entities };
  }

  /** @param indent the beginning of each line after the first */
  blocks(tokens: readonly Token[], styles: Styles, indent: string): void {
    let between = '';
    for (const token of tokens) {
      if (token.type === 'space') {
        between = '\n\n';
        continue;
      }
      if (this.#text !== '' && between !== '') this.#put(between + indent, styles);
      this.#block(token, styles, indent);
      between = /\n[ \t]*\n[ \t]*$/.test(token.raw) ? '\n\n' : '\n';
      // The checkbox stands before the text of its item.
      if (token.type === 'checkbox') between = '';
    }
  }

  #block(token: Token, styles: Styles, indent: string): void {
    switch (token.type) {
      case 'heading':
        return this.#inline(innerOf(token) ?? [], { ...styles, bold: '' }, indent);
      case 'code':
        return this.#put(textOf(token), { pre: (token as Tokens.Code).lang ?? '' });
      case 'blockquote':
        return this.blocks(innerOf(token) ?? [], { ...styles, blockquote: '' }, indent);
      case 'list':
        return this.#list(token as Tokens.List, styles, indent);
      case 'table':
        return this.#put(token.raw.trimEnd(), { pre: '' });
      case 'hr':
        return this.#put('———', styles);
      case 'html':
        return this.#put(token.raw.trimEnd(), styles);
      default:
        // A paragraph, or the text of a tight list item.
        return this.#inline(innerOf(token) ?? [token], styles, indent);
    }
  }

  #list({ items, ordered, start, loose }: Tokens.List, styles: Styles, indent: string): void {
    for (const [index, item] of items.entries()) {
      if (index > 0) this.#put((loose ? '\n\n' : '\n') + indent, styles);
      this.#put(ordered ? `${Number(start) + index}. ` : '• ', styles);
      this.blocks(item.tokens, styles, `${indent}  `);
    }
  }

  #inline(tokens: readonly Token[], styles: Styles, indent: string): void {
    for (const token of tokens) this.#inlineOne(token, styles, indent);
  }

  #inlineOne(token: Token, styles: Styles, indent: string): void {
    const nested = innerOf(token);
    const inner = nested ?? [];
    switch (token.type) {
      case 'strong':
        return this.#inline(inner, { ...styles, bold: '' }, indent);
      case 'em':
        return this.#inline(inner, { ...styles, italic: '' }, indent);
      case 'del':
        return this.#inline(inner, { ...styles, strikethrough: '' }, indent);
      case 'codespan':
        return this.#put(textOf(token), { code: '' });
      case 'br':
        return this.#put(`\n${indent}`, styles);
      case 'link':
      case 'image':
        return this.#link(token as Tokens.Link | Tokens.Image, styles, indent);
      case 'checkbox':
        return this.#put((token as Tokens.Checkbox).checked ? '☑ ' : '☐ ', styles);
      case 'escape':
        return this.#put(textOf(token), styles);
      case 'html':
        return this.#put(token.raw, styles);
      default:
        if (nested !== null) return this.#inline(nested, styles, indent);
        return this.#put(this.#decoded(token.raw), styles);
    }
  }

  /**
   * Telegram itself links an address that is its own text. Telegram opens only web and tg links.
   */
  #link(link: Tokens.Link | Tokens.Image, styles: Styles, indent: string): void {
    const { href, text } = link;
    const isBare = text === href;
    const isLinked = !isBare && isLinkable(href);
    const linked = isLinked ? { ...styles, text_link: href } : styles;
    if (link.type === 'image') return this.#put(this.#decoded(text) || href, linked);
    const isShown = isLinked || (isBare && openable.test(href)) || href.startsWith('mailto:');
    if (!isShown) return this.#put(link.raw, styles);
    this.#inline(link.tokens, linked, indent);
  }

  #put(text: string, styles: Styles): void {
    if (text === '') return;
    this.#text += text;
    this.#runs.push({ end: this.#text.length, styles });
  }

  /**
   * The spans of one style. Runs that touch and have the same value join, and white space between
   * them does not end a span.
   */
  #spansOf(type: Style, end: number): Entity[] {
    const spans: { offset: number; end: number; value: string }[] = [];
    let from = 0;
    for (const run of this.#runs) {
      const value = run.styles[type];
      const last = spans.at(-1);
      if (value !== undefined) {
        // Two code blocks in a row stay two: the text between them has no style.
        if (last?.end === from && last.value === value) last.end = run.end;
        else spans.push({ offset: from, end: run.end, value });
      }
      from = run.end;
    }
    return spans.flatMap((span) => {
      const length = this.#text.slice(span.offset, Math.min(span.end, end)).trimEnd().length;
      return length === 0 ? [] : [entityOf(type, span.offset, length, span.value)];
    });
  }
}

const openable = /^(?:https?|tg):\/\//i;
/** The server takes a host with a dot, or of IPv6 (`check_link_impl` of tdlib/td). */
const webLink =
  /^https?:\/\/(?:\[[\da-f:.]+\]|[^\s/?#@:[\]{}"`]+\.[^\s/?#@:[\]{}"`]+)(?=[/?#:]|$)/i;
const tgLink = /^tg:\/\/[\w-]+(?=[/?]|$)/i;

/**
 * The server refuses the whole message for one link that it does not take, such as one to localhost
 * (untether#157, grammY#471).
 */
function isLinkable(href: string): boolean {
  return tgLink.test(href) || (webLink.test(href) && URL.canParse(href));
}

function textOf(token: Token): string {
  return 'text' in token ? String(token.text) : token.raw;
}

function innerOf(token: Token): readonly Token[] | null {
  return 'tokens' in token ? (token.tokens ?? null) : null;
}

function entityOf(type: Style, offset: number, length: number, value: string): Entity {
  if (type === 'text_link') return { type, offset, length, url: value };
  if (type !== 'pre') return { type, offset, length };
  const language = value.split(/\s/, 1)[0]!;
  return { type, offset, length, ...(language !== '' && { language }) };
}
