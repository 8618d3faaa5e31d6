/**
 * `npm run prose`: lists the sentences and paragraphs of the documents that are too long to be read
 * once. Arguments: Markdown files; without one it reads all. It ends with 1 where it lists any.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { marked, type Token, type Tokens } from 'marked';

export const sentenceWordsMax = 30;
export const paragraphWordsMax = 90;

const root = join(import.meta.dirname, '..');

/** Returns every document of the checkout, relative to its root. */
export function documents(): readonly string[] {
  return globSync(['*.md', '{docs,examples,src,apps,web,packaging,test}/**/*.md'], { cwd: root })
    .map((path) => path.replaceAll(sep, '/'))
    .filter((path) => !path.includes('node_modules/'))
    .toSorted();
}

/** Returns a line for each sentence and paragraph of a Markdown text that is too long. */
export function tooLong(text: string): readonly string[] {
  return paragraphsOf(marked.lexer(text)).flatMap((paragraph) => {
    const words = wordsIn(paragraph);
    const long = paragraph
      .split(/(?<=[.!?][)”"’*]*)(?<!\b(?:e\.g|i\.e|etc|vs)\.)\s+/)
      .filter((sentence) => wordsIn(sentence) > sentenceWordsMax)
      .map((sentence) => `a sentence of ${wordsIn(sentence)} words: ${sentence}`);
    if (words <= paragraphWordsMax) return long;
    return [`a paragraph of ${words} words: ${paragraph.slice(0, 80)}…`, ...long];
  });
}

const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

/** Paragraphs, the items of lists without the lists inside them, and the cells of tables. */
function paragraphsOf(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token) => {
    switch (token.type) {
      case 'paragraph':
      case 'text':
        return [inline([token])];
      case 'table': {
        const { header, rows } = token as Tokens.Table;
        return [header, ...rows].flat().map((cell) => inline(cell.tokens));
      }
      case 'list':
        return (token as Tokens.List).items.flatMap((item) => paragraphsOf(item.tokens));
      case 'blockquote':
        return paragraphsOf((token as Tokens.Blockquote).tokens);
      default:
        return [];
    }
  });
}

/** Returns the text that a person reads; a name in code counts as one word. */
function inline(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'codespan')
        return `\`${(token as Tokens.Codespan).text.replaceAll(' ', '_')}\``;
      if (token.type === 'br') return ' ';
      const { tokens: inner, text = '' } = token as { tokens?: Token[]; text?: string };
      return inner === undefined ? text : inline(inner);
    })
    .join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const named = process.argv.slice(2).map((path) => relative(root, path).replaceAll(sep, '/'));
  for (const path of named.length > 0 ? named : documents()) {
    for (const line of tooLong(readFileSync(join(root, path), 'utf8'))) {
      console.log(`${path}: ${line}`);
      process.exitCode = 1;
    }
  }
}
