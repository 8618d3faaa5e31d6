/**
 * Builds the documents as a static site: the pages by Eleventy, Markdown by marked, the search by
 * MiniSearch. The same documents give the same bytes.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { Eleventy, type Config } from '@11ty/eleventy';
import { publishedFiles } from '../checkout.ts';
import { render, type Rendered } from './markdown.ts';
import { searchIndexOf, searchScript } from './search-index.ts';
import { readShelves, type Shelf, type Source } from './shelves.ts';

const root = join(import.meta.dirname, '../../..');

type Page = { readonly source: Source; readonly shelf: Shelf; readonly rendered: Rendered };

/**
 * Replaces the folder's content with the site. Throws, and leaves the folder as it is, where a
 * document does not fit. Throws also where the working directory is not the checkout: Eleventy sees
 * no file outside of it.
 */
export async function makeSite(folder: string): Promise<void> {
  if (relative(root, process.cwd()) !== '') throw new Error(`make the site in ${root}`);
  const shelves = readShelves(root);
  const sources = shelves.flatMap((shelf) => shelf.sources.map((source) => ({ shelf, source })));
  const urls = new Map(sources.map(({ source }) => [source.path, source.url]));
  const pages = sources.map((one): Page => {
    const isFirst = one.source.url === 'index.html';
    return { ...one, rendered: render(one.source, { urls, sizeOf }, isFirst) };
  });
  const pictures = new Set(pages.flatMap(({ rendered }) => rendered.pictures));
  const known = publishedFiles(root, ['docs', 'examples']);
  for (const picture of pictures) {
    if (!known.includes(picture)) throw new Error(`a page shows ${picture}, which is in no commit`);
  }
  const files = new Map<string, string>([
    ...(await laidOut(pages, shelves)),
    ['style.css', readFileSync(join(import.meta.dirname, 'look/style.css'), 'utf8')],
    ['icon.svg', readFileSync(join(root, 'packaging/svc.svg'), 'utf8')],
    ['search.js', await searchScript(root)],
    ['search-index.js', searchIndexOf(pages)],
  ]);
  rmSync(folder, { recursive: true, force: true });
  for (const [path, text] of files) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const picture of pictures) {
    mkdirSync(join(folder, dirname(picture)), { recursive: true });
    copyFileSync(join(root, picture), join(folder, picture));
  }
}

/** Reads the header of a PNG file: https://www.w3.org/TR/png-3/#11IHDR */
function sizeOf(picture: string): readonly [number, number] | null {
  const path = join(root, picture);
  if (!existsSync(path)) return null;
  const bytes = readFileSync(path);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

/** Puts each page into the layout of `look/page.liquid`, by its place in the site. */
async function laidOut(
  pages: readonly Page[],
  shelves: readonly Shelf[],
): Promise<readonly [string, string][]> {
  const here = relative(root, import.meta.dirname).replaceAll('\\', '/');
  const config = (eleventy: Config): void => {
    eleventy.setUseGitIgnore(false);
    eleventy.setTemplateFormats(['page']);
    eleventy.setIncludesDirectory('look');
    // The documents are HTML already, since the search reads them too.
    const compile = (content: string) => () => content;
    eleventy.addExtension('page', { outputFileExtension: 'html', compile });
    for (const [index, page] of pages.entries()) {
      const beside = { previous: pages[index - 1], next: pages[index + 1] };
      const data = dataOf(page, shelves, beside);
      eleventy.addTemplate(`${page.source.url}.page`, page.rendered.html, data);
    }
  };
  const site = new Eleventy(`./${here}`, `./${here}/unused`, {
    quietMode: true,
    configPath: null,
    config,
  });
  const made = await site.toJSON();
  if (made.length !== pages.length) throw new Error(`${made.length} of ${pages.length} pages`);
  return made
    .map(({ url, content }): [string, string] => [fileOf(url), content])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Eleventy's URL names the folder when a server shows a page for it. */
const fileOf = (url: string): string => url.slice(1).replace(/(^|\/)$/, '$1index.html');

type Beside = { readonly previous: Page | undefined; readonly next: Page | undefined };

function dataOf({ source, shelf, rendered }: Page, shelves: readonly Shelf[], beside: Beside) {
  const from = dirname(source.url);
  const linkTo = ({ url, title }: Source) => ({
    url: posix.relative(from, url),
    title,
    isHere: url === source.url,
  });
  return {
    layout: 'page.liquid',
    permalink: source.url,
    title: source.title === 'svc' ? titleOfFirst(rendered.summary) : `${source.title} · svc`,
    heading: source.title,
    summary: rendered.summary && shortened(rendered.summary),
    lead: rendered.lead && { ...rendered.lead, next: nextSteps(shelves).map(linkTo) },
    root: from === '.' ? '' : `${posix.relative(from, '.')}/`,
    shelf: shelf.title,
    shelves: shelves.map(({ title, sources: [first] }) => ({
      ...linkTo(first!),
      title,
      isHere: title === shelf.title,
    })),
    beside: shelf.sources.map(linkTo),
    parts: rendered.sections.filter(({ depth }) => depth === 2),
    previous: beside.previous && linkTo(beside.previous.source),
    next: beside.next && linkTo(beside.next.source),
  };
}

/** Where a reader of the first page goes on. */
const steps = ['docs/how-to/install.md', 'docs/get-started/README.md'];

function nextSteps(shelves: readonly Shelf[]): readonly Source[] {
  const sources = shelves.flatMap((shelf) => shelf.sources);
  return steps.map((path) => {
    const found = sources.find((source) => source.path === path);
    if (found === undefined) throw new Error(`the first page leads to ${path}, which is not there`);
    return found;
  });
}

/** The title of the first page, for lists of search results: the name, and what svc is. */
function titleOfFirst(summary: string | null): string {
  if (summary === null) return 'svc';
  const [what = ''] = summary.split('. ');
  return `svc: ${what.charAt(0).toLowerCase()}${what.slice(1)}`;
}

const summaryCharactersMax = 200;

/** Previews of links cut a longer text anywhere. */
function shortened(text: string): string {
  if (text.length <= summaryCharactersMax) return text;
  return `${text.slice(0, summaryCharactersMax - 1).replace(/[\s,;:.]+\S*$/, '')}…`;
}
