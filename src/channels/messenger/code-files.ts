/**
 * Long code of a reply goes as a file: a fenced block that is longer than a screen of a telephone
 * is cut out of the text, and stands as a file between what comes before and behind it. Pure.
 */
import type { ReplyPart } from '../../domain/reply.ts';
import { linesOf, splitText, type Cutting, type Line } from './splitting.ts';

/** `codeCharactersMax`: a longer block is a file. */
export type FileCutting = Cutting & { readonly codeCharactersMax: number };

/** Cuts a text of Markdown into texts that the platform takes at once, and files. */
export function splitReply(text: string, cutting: FileCutting): readonly ReplyPart[] {
  const blocks = blocksOf(text, cutting).filter(
    ({ code }) => code.length > cutting.codeCharactersMax,
  );
  const parts: ReplyPart[] = [];
  let from = 0;
  for (const [index, { start, end, code, info }] of blocks.entries()) {
    parts.push(...textsOf(text.slice(from, start), cutting));
    const number = blocks.length === 1 ? '' : `-${index + 1}`;
    parts.push({ text: code, file: { name: `code${number}.${endingOf(info)}` } });
    from = end;
  }
  return [...parts, ...textsOf(text.slice(from), cutting)];
}

function textsOf(text: string, cutting: Cutting): readonly ReplyPart[] {
  return splitText(text, cutting).map((part) => ({ text: part.text }));
}

/** With its fences it stands from `start` to `end`. */
type Block = {
  readonly start: number;
  readonly end: number;
  readonly info: string;
  readonly code: string;
};

function blocksOf(text: string, cutting: Cutting): readonly Block[] {
  const blocks: Block[] = [];
  let opening: Line | null = null;
  const close = (codeEnd: number, end: number): void => {
    if (opening === null) return;
    const { start, end: openingEnd, fence } = opening;
    const indent = /^[ \t]*/.exec(text.slice(start, openingEnd))![0].length;
    const code = unindented(text.slice(openingEnd + 1, codeEnd), indent);
    blocks.push({ start, end, info: fence?.info ?? '', code });
    opening = null;
  };
  for (const line of linesOf(text, cutting)) {
    if (line.edge === 'opens') opening = line;
    if (line.edge === 'closes') close(line.start, line.end);
  }
  close(text.length, text.length);
  return blocks;
}

/** A block in a list is indented as its fence is. */
function unindented(code: string, indent: number): string {
  return indent === 0 ? code : code.replace(new RegExp(`^[ \\t]{1,${indent}}`, 'gm'), '');
}

/** By the language's usual names; one that is not here is its own ending where it may be one. */
const endings: Readonly<Record<string, string>> = {
  bash: 'sh',
  'c#': 'cs',
  'c++': 'cpp',
  csharp: 'cs',
  golang: 'go',
  haskell: 'hs',
  javascript: 'js',
  julia: 'jl',
  kotlin: 'kt',
  markdown: 'md',
  perl: 'pl',
  plaintext: 'txt',
  powershell: 'ps1',
  python: 'py',
  python3: 'py',
  ruby: 'rb',
  rust: 'rs',
  shell: 'sh',
  text: 'txt',
  typescript: 'ts',
  yaml: 'yml',
  zsh: 'sh',
};

const plainEndings = new RegExp(
  '^(?:c|cc|cpp|css?|csv|dart|diff|go|h|hpp|hs|html|ini|java|jl|jsx?|json|kt|lua|md|php|pl|ps1|' +
    'py|rb?|rs|scala|sh|sql|svelte|swift|tex|toml|tsx?|vue|xml|yml)$',
);

function endingOf(info: string): string {
  const language = info.split(/[\s{,:]/, 1)[0]!.toLowerCase();
  const ending = Object.hasOwn(endings, language) ? endings[language]! : language;
  return plainEndings.test(ending) ? ending : 'txt';
}

const cutNote = 'The whole could not be sent as a file; this is how it begins.';
const noteUnits = cutNote.length + 2;

/**
 * The code of a file that the platform does not take, as far as it fits into one text. `note` says
 * that it is cut, and stands behind it; null: it is whole.
 */
export function beginningOf(
  file: string,
  unitsMax: number,
): { readonly code: string; readonly note: string | null } {
  const code = file.trimEnd();
  if (code.length <= unitsMax) return { code, note: null };
  const begin = code.slice(0, Math.max(0, unitsMax - noteUnits)).toWellFormed();
  return { code: begin, note: cutNote };
}

/** The same in Markdown, whatever is in the code. */
export function codeAsMarkdown(file: string, unitsMax: number): string {
  const runs = file.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length + 1), 3));
  const { code, note } = beginningOf(file, unitsMax - 2 * (fence.length + 1));
  return `${fence}\n${code}\n${fence}${note === null ? '' : `\n\n${note}`}`;
}
