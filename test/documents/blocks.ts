/** Reads the fenced blocks of the documents. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/run-svc.ts';

/** Every page for users of svc; the pages about changing svc are left out. */
export const pages: readonly string[] = globSync(
  ['README.md', 'docs/**/*.md', 'examples/**/*.md'],
  { cwd: root },
).toSorted();

export type Block = {
  /** The line of its fence in the page, from 1. */
  readonly line: number;
  /** The words after the fence: its language, then its marks. */
  readonly info: readonly string[];
  readonly text: string;
  /** The output that the page shows below it (`text output`); null: none. */
  readonly shown: string | null;
};

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

/** Returns all fenced blocks of a page, in order; a block inside a list loses its indent. */
export function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { line: number; indent: string; info: string; lines: string[] } | null = null;
  for (const [index, line] of page.split('\n').entries()) {
    const fence = /^( *)```(.*)$/.exec(line);
    if (open === null) {
      if (fence !== null) {
        open = { line: index + 1, indent: fence[1]!, info: fence[2]!, lines: [] };
      }
    } else if (fence !== null && fence[1] === open.indent && fence[2] === '') {
      const info = open.info.split(' ').filter((word) => word !== '');
      blocks.push({ line: open.line, info, text: `${open.lines.join('\n')}\n`, shown: null });
      open = null;
    } else {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    }
  }
  if (open !== null) throw new Error(`the block of line ${open.line} has no end`);
  return blocks.map((block, index) => {
    const below = blocks[index + 1];
    return below?.info.join(' ') === 'text output' ? { ...block, shown: below.text } : block;
  });
}

/** The text of the page's only block of that language with these words. */
export function quoted(page: string, language: string, words: string): string {
  const found = blocksOf(textOf(page)).filter(
    ({ info, text }) => info[0] === language && text.includes(words),
  );
  if (found.length !== 1) throw new Error(`${page} has ${found.length} blocks with ${words}`);
  return found[0]!.text;
}

export const isShell = ({ info }: Block): boolean => info[0] === 'sh';
