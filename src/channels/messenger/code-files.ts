/**
 * Sends long code of a reply as a file. A fenced block longer than a telephone's screen leaves the
 * text and becomes a file between the texts before and behind it. Pure.
 */
import type { ReplyPart } from '../../domain/reply.ts';
import { linesOf, splitText, type Cutting, type Line } from './splitting.ts';

/** `codeCharactersMax`: a longer block becomes a file. */
export type FileCutting = Cutting & { readonly codeCharactersMax: number };

/** Cuts Markdown into files and into texts that the platform takes in one message. */
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

/** `start` and `end` include the fences. */
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

/** Removes the indent of the fence from each line, for a block in a list. */
function unindented(code: string, indent: number): string {
  return indent === 0 ? code : code.replace(new RegExp(`^[ \\t]{1,${indent}}`, 'gm'), '');
}

/**
 * File endings by the usual names of languages. A language that is missing here is its own ending,
 * if `plainEndings` has it.
 */
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
 * The beginning of a file that the platform refused, as much as fits into one text. `note` stands
 * behind the code and reports the cut; null: the code is whole.
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

/** The same as Markdown; the fence is longer than every run of backticks in the code. */
export function codeAsMarkdown(file: string, unitsMax: number): string {
  const runs = file.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length + 1), 3));
  const { code, note } = beginningOf(file, unitsMax - 2 * (fence.length + 1));
  return `${fence}\n${code}\n${fence}${note === null ? '' : `\n\n${note}`}`;
}
