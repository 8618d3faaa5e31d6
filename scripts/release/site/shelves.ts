/** Lists the documents of the site, in reading order. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { marked, type Token, type Tokens } from 'marked';
import { publishedFiles } from '../checkout.ts';

export type Source = {
  /** Its file, relative to the root of the checkout: `docs/how-to/backup.md`. */
  readonly path: string;
  /** Its page on the site: `docs/how-to/backup.html`. */
  readonly url: string;
  /** Its first heading, as plain text. */
  readonly title: string;
  readonly text: string;
};

export type Shelf = { readonly title: string; readonly sources: readonly Source[] };

/** The folders of documents in order; all others follow by name. */
const order = [
  'docs/get-started',
  'docs/recipes',
  'docs/how-to',
  'docs/reference',
  'docs/how-it-works',
];
const last = ['docs/decisions', 'examples'];

/** @param root the checkout */
export function readShelves(root: string): readonly Shelf[] {
  const isPage = (path: string): boolean => /^docs\/.*\.md$|\/README\.md$/.test(path);
  const found = publishedFiles(root, ['docs', 'examples']).filter(isPage);
  const folders = new Map<string, string[]>();
  for (const path of found) {
    const folder = folderOf(path);
    folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  const [begin, end] = ['README.md', 'CHANGELOG.md'].map((path) => sourceOf(root, path));
  const own = (folders.get('docs') ?? []).map((path) => sourceOf(root, path));
  folders.delete('docs');
  const middle = [...folders.keys()].filter((one) => !order.includes(one) && !last.includes(one));
  const names = [...order, ...middle, ...last].filter((one) => folders.has(one));
  const shelves = names.map((name) => shelfOf(root, name, folders.get(name)!));
  return [{ title: 'svc', sources: [begin!, ...own, end!] }, ...shelves];
}

/** The shelf of a file: its folder below `docs`; the examples are one shelf. */
function folderOf(path: string): string {
  const [first, second] = path.split('/');
  return first === 'docs' && path.split('/').length > 2 ? `docs/${second}` : first!;
}

function shelfOf(root: string, name: string, paths: readonly string[]): Shelf {
  const begin = `${name}/README.md`;
  const others = paths.filter((path) => path !== begin).map((path) => sourceOf(root, path));
  const title = name
    .split('/')
    .at(-1)!
    .replaceAll('-', ' ')
    .replace(/^./, (one) => one.toUpperCase());
  const first = paths.includes(begin) ? sourceOf(root, begin) : listOf(begin, title, others);
  const linked = linkedFrom(first);
  const rankOf = (path: string): number =>
    linked.includes(path) ? linked.indexOf(path) : linked.length;
  const sorted = others.toSorted((a, b) => rankOf(a.path) - rankOf(b.path));
  return { title, sources: [first, ...sorted] };
}

/** Makes a first page for a shelf without its own. */
function listOf(path: string, title: string, sources: readonly Source[]): Source {
  const lines = sources.map(
    (one) => `- [${one.title}](${posix.relative(dirname(path), one.path)})`,
  );
  return { path, url: urlOf(path), title, text: `# ${title}\n\n${lines.join('\n')}\n` };
}

/** The files that a page links to, in order. */
function linkedFrom({ path, text }: Source): readonly string[] {
  const linked: string[] = [];
  void marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === 'link') linked.push(posix.join(dirname(path), String(token['href'])));
  });
  return linked;
}

function sourceOf(root: string, path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const heading = marked.lexer(text).find((token): token is Tokens.Heading => {
    return token.type === 'heading';
  });
  if (heading === undefined) throw new Error(`${path} has no heading`);
  return { path, url: urlOf(path), title: plainText(heading.tokens), text };
}

/** A folder's README becomes its index page. */
export function urlOf(path: string): string {
  const name = basename(path) === 'README.md' ? 'index.html' : basename(path, '.md') + '.html';
  return posix.join(dirname(path), name);
}

/** The text that a person reads: no marks, no addresses. */
export function plainText(tokens: readonly Token[]): string {
  return tokens.map(plainTextOf).join('');
}

function plainTextOf(token: Token): string {
  switch (token.type) {
    case 'html':
    case 'image':
      return '';
    case 'br':
    case 'space':
      return ' ';
    case 'list':
      return (token as Tokens.List).items.map(({ tokens }) => `${plainText(tokens)} `).join('');
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows]
        .flat()
        .map(({ tokens }) => `${plainText(tokens)} `)
        .join('');
    }
    case 'paragraph':
    case 'blockquote':
      return `${plainText((token as Tokens.Paragraph).tokens)} `;
    default: {
      const { tokens, text = '' } = token as { tokens?: Token[]; text?: string };
      return tokens === undefined ? text : plainText(tokens);
    }
  }
}
