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

export type Rendered = {
  readonly html: string;
  readonly sections: readonly Section[];
  /** Picture files that the page shows or links to, relative to the root of the checkout. */
  readonly pictures: readonly string[];
};

/** @param urls the pages of the site, by their file */
export function render(source: Source, urls: ReadonlyMap<string, string>): Rendered {
  const markdown = new Marked();
  const tokens = markdown.lexer(source.text);
  const anchors = anchorsOf(markdown, tokens);
  const pictures = new Set<string>();
  const renderer = rendererOf(source, { urls, anchors, pictures });
  const html = markdown.parser(tokens, { renderer });
  return { html, sections: sectionsOf(tokens, anchors), pictures: [...pictures] };
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

type Place = {
  readonly urls: ReadonlyMap<string, string>;
  readonly anchors: Anchors;
  readonly pictures: Set<string>;
};

function rendererOf(source: Source, { urls, anchors, pictures }: Place): Renderer {
  const renderer = new Renderer();
  const shown = (href: string): string => {
    pictures.add(posix.join(dirname(source.path), href));
    return href;
  };
  const leadsTo = (href: string): string | null => {
    if (/^[a-z]+:|^#/i.test(href)) return href;
    const [path = '', anchor] = href.split('#');
    const file = posix.join(dirname(source.path), path).replace(/\/$/, '');
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
      return html.replace('<img ', '<img loading="lazy" ');
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
