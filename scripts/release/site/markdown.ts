/** Renders a document as HTML, with the anchors that GitHub gives, and links within the site. */
import { dirname, extname, posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import { Marked, Renderer, type Token, type Tokens } from 'marked';
import { plainText, type Source } from './shelves.ts';

/** The part of a page below one heading; `anchor` is empty for the first part. */
export type Section = {
  readonly anchor: string;
  readonly heading: string;
  readonly depth: number;
  readonly text: string;
};

/** The beginning of a page: its heading, its first paragraphs, and the picture behind them. */
export type Lead = { readonly words: string; readonly picture: string };

export type Rendered = {
  /** Without the lead. */
  readonly html: string;
  /** null: the page has none. */
  readonly lead: Lead | null;
  /** The first paragraph as plain text; null: there is none. */
  readonly summary: string | null;
  readonly sections: readonly Section[];
  /** Picture files that the page shows or links to, relative to the root of the checkout. */
  readonly pictures: readonly string[];
};

export type Site = {
  /** The pages, by their file. */
  readonly urls: ReadonlyMap<string, string>;
  /** The width and height of a picture; null: there is no such file. */
  readonly sizeOf: (picture: string) => readonly [number, number] | null;
};

/** @param hasLead whether the beginning is laid out apart from the rest */
export function render(source: Source, site: Site, hasLead = false): Rendered {
  const markdown = new Marked();
  const tokens = markdown.lexer(source.text);
  const anchors = anchorsOf(markdown, tokens);
  const pictures = new Set<string>();
  const renderer = rendererOf(source, { ...site, anchors, pictures });
  const htmlOf = (some: Token[]): string => markdown.parser(some, { renderer });
  const leadEnd = hasLead ? endOfWords(tokens) : 0;
  const picture = tokens.slice(leadEnd, leadEnd + 1).filter(isPicture);
  const lead = hasLead
    ? {
        words: htmlOf(tokens.slice(0, leadEnd)),
        // It is seen at once.
        picture: htmlOf(picture).replaceAll('loading="lazy" ', ''),
      }
    : null;
  const html = htmlOf(hasLead ? tokens.slice(leadEnd + picture.length) : tokens);
  const summary = summaryOf(tokens);
  return { html, lead, summary, sections: sectionsOf(tokens, anchors), pictures: [...pictures] };
}

/** @returns the place of the first token that is neither a heading of the page nor a sentence */
function endOfWords(tokens: readonly Token[]): number {
  const isWords = (token: Token): boolean =>
    token.type === 'space' ||
    (token.type === 'heading' && (token as Tokens.Heading).depth === 1) ||
    (token.type === 'paragraph' && !isPicture(token));
  const end = tokens.findIndex((token) => !isWords(token));
  return end === -1 ? tokens.length : end;
}

/** A paragraph of pictures alone. */
function isPicture(token: Token): boolean {
  if (token.type !== 'paragraph') return false;
  const { tokens } = token as Tokens.Paragraph;
  const isBlank = ({ type, raw }: Token): boolean => type === 'text' && raw.trim() === '';
  return tokens.every((one) => one.type === 'image' || isBlank(one));
}

function summaryOf(tokens: readonly Token[]): string | null {
  const first = tokens.find((token) => token.type === 'paragraph' && !isPicture(token));
  return first === undefined ? null : plainText([first]).replaceAll(/\s+/g, ' ').trim();
}

type Anchors = ReadonlyMap<Token, string>;

function anchorsOf(markdown: Marked, tokens: Token[]): Anchors {
  const slugger = new GithubSlugger();
  const anchors = new Map<Token, string>();
  void markdown.walkTokens(tokens, (token) => {
    if (token.type !== 'heading') return;
    anchors.set(token, slugger.slug(plainText((token as Tokens.Heading).tokens)));
  });
  return anchors;
}

function sectionsOf(tokens: readonly Token[], anchors: Anchors): readonly Section[] {
  const sections: Section[] = [];
  let inside: Token[] = [];
  let head = { anchor: '', heading: '', depth: 1 };
  const end = (): void => {
    const text = plainText(inside).replaceAll(/\s+/g, ' ').trim();
    if (head.heading !== '' || text !== '') sections.push({ ...head, text });
  };
  for (const token of tokens) {
    if (token.type !== 'heading') {
      inside.push(token, { type: 'space', raw: ' ' });
      continue;
    }
    end();
    inside = [];
    const { depth, tokens: words } = token as Tokens.Heading;
    const anchor = depth === 1 ? '' : anchors.get(token)!;
    head = { anchor, heading: plainText(words), depth };
  }
  end();
  return sections;
}

type Place = Site & {
  readonly anchors: Anchors;
  readonly pictures: Set<string>;
};

function rendererOf(source: Source, { urls, sizeOf, anchors, pictures }: Place): Renderer {
  const renderer = new Renderer();
  const fileOf = (href: string): string => posix.join(dirname(source.path), href);
  const shown = (href: string): string => {
    pictures.add(fileOf(href));
    return href;
  };
  const leadsTo = (href: string): string | null => {
    if (/^[a-z]+:|^#/i.test(href)) return href;
    const [path = '', anchor] = href.split('#');
    const file = fileOf(path).replace(/\/$/, '');
    const url = urls.get(file) ?? urls.get(posix.join(file, 'README.md'));
    if (url === undefined) return extname(file) === '.png' ? shown(href) : null;
    const from = posix.relative(dirname(source.url), url);
    return anchor === undefined ? from : `${from}#${anchor}`;
  };
  return Object.assign(renderer, {
    heading(token: Tokens.Heading): string {
      const inner = renderer.parser.parseInline(token.tokens);
      return `<h${token.depth} id="${anchors.get(token)}">${inner}</h${token.depth}>\n`;
    },
    link(token: Tokens.Link): string {
      const href = leadsTo(token.href);
      // A link to a file outside the site becomes plain text: the site has no sources.
      if (href === null) return renderer.parser.parseInline(token.tokens);
      return Renderer.prototype.link.call(renderer, { ...token, href });
    },
    image(token: Tokens.Image): string {
      if (/^[a-z]+:/i.test(token.href))
        throw new Error(`${source.path}: ${token.href} is elsewhere`);
      const html = Renderer.prototype.image.call(renderer, { ...token, href: shown(token.href) });
      // The page keeps room for the picture until it is there.
      const [width, height] = sizeOf(fileOf(token.href)) ?? [];
      const size = width === undefined ? '' : `width="${width}" height="${height}" `;
      return html.replace('<img ', `<img loading="lazy" ${size}`);
    },
    paragraph(token: Tokens.Paragraph): string {
      if (!isPicture(token)) return Renderer.prototype.paragraph.call(renderer, token);
      const images = token.tokens.filter((one): one is Tokens.Image => one.type === 'image');
      // A small screen shows it small: the link leads to the whole picture.
      return images
        .map((one) => `<figure><a href="${one.href}">${renderer.image(one)}</a></figure>\n`)
        .join('');
    },
    // Both may be wider than a telephone. The focus lets people without a mouse scroll them.
    table: (token: Tokens.Table): string =>
      `<div class="wide" tabindex="0">${Renderer.prototype.table.call(renderer, token)}</div>\n`,
    // A heading without words is an empty cell.
    tablecell: (token: Tokens.TableCell): string =>
      token.tokens.length > 0 ? Renderer.prototype.tablecell.call(renderer, token) : '<td></td>\n',
    code: (token: Tokens.Code): string =>
      Renderer.prototype.code
        .call(renderer, { ...token, lang: token.lang?.split(' ')[0] ?? '' })
        .replace('<pre>', '<pre tabindex="0">'),
    html(token: Tokens.HTML | Tokens.Tag): string {
      if (/^\s*<!--[^]*-->\s*$/.test(token.raw)) return '';
      throw new Error(`${source.path}: write ${token.raw.trim()} in Markdown`);
    },
  });
}
