/**
 * Cuts a reply into what a messenger takes (`splitReply`). A fenced block of code that is longer
 * than a telephone's screen becomes a file between the texts before and behind it. Pure.
 *
 * A long text is cut between paragraphs if no part becomes small, else between lines, else between
 * words, and never inside a character (`splitText`). A fenced code block that continues in the next
 * part is closed at the cut, and opened again with its language (CommonMark 0.31, section 4.5).
 */
import type { ReplyPart } from '../../domain/reply.ts';

/** `text` is what svc sends: the source from `from` to `to`, and the fences that the cuts need. */
export type Part = { readonly text: string; readonly from: number; readonly to: number };

export type Cutting = {
  /** The most that one part may measure; at least 64. */
  readonly unitsMax: number;
  /** How the platform measures. Two joined texts must not measure more than the sum of both. */
  readonly unitsOf: (text: string) => number;
  /** Whether code fences have a meaning; they have none in rendered text. */
  readonly fences: boolean;
};

type Fence = { readonly marker: string; readonly info: string };

/** `fence` is open behind this line; `edge`: the line itself opens or closes it. */
type Line = {
  readonly start: number;
  readonly end: number;
  readonly fence: Fence | null;
  readonly edge: 'opens' | 'closes' | null;
};

/** The part ends at `to`, the next begins at `from`; `fence` is open between them. */
type Cut = { readonly to: number; readonly from: number; readonly fence: Fence | null };

const markerMax = 16;

/**
 * @returns at least one part if the text has more than white space; no part is blank. Only white
 *   space lies between two parts; inside a code block only the end of a line
 */
export function splitText(text: string, cutting: Cutting): readonly Part[] {
  const lines = linesOf(text, cutting);
  const markers = lines.map(({ fence }) => fence?.marker.length ?? 0);
  const longest = markers.reduce((most, length) => Math.max(most, length), 0);
  const closingUnits = longest === 0 ? 0 : longest + cutting.unitsOf('\n');
  const parts: Part[] = [];
  let fence: Fence | null = null;
  let first = 0;
  let from = skipBlankLines(text, 0);
  while (from < text.length) {
    const opening: string = fence === null ? '' : `${fence.marker}${fence.info}\n`;
    const limit = furthestEnd(text, from, opening, closingUnits, cutting);
    while (lines[first]!.end < from) first++;
    const cut: Cut =
      limit === text.length
        ? { to: text.trimEnd().length, from: text.length, fence: null }
        : chooseCut(from, limit, new BreakPoints(text, limit, lines, first));
    const slice = text.slice(from, cut.to);
    if (slice.trim() !== '') {
      const closing = cut.fence === null ? '' : `\n${cut.fence.marker}`;
      parts.push({ text: `${opening}${slice}${closing}`, from, to: cut.to });
    }
    ({ from, fence } = cut);
  }
  return parts;
}

function linesOf(text: string, { fences, unitsMax }: Cutting): readonly Line[] {
  const lines: Line[] = [];
  let fence: Fence | null = null;
  for (let start = 0; start <= text.length;) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    const mark = fences && end - start <= unitsMax / 4 ? fenceOf(text.slice(start, end)) : null;
    let edge: Line['edge'] = null;
    if (mark !== null && fence === null) {
      [fence, edge] = [mark, 'opens'];
    } else if (mark !== null && fence !== null && closes(mark, fence)) {
      [fence, edge] = [null, 'closes'];
    }
    lines.push({ start, end, fence, edge });
    start = end + 1;
  }
  return lines;
}

/** A longer marker counts as no fence, so that a part has room for more than its fences. */
function fenceOf(line: string): Fence | null {
  const match = /^[ \t]*(?:(`{3,})([^`]*)|(~{3,})(.*))$/.exec(line.trimEnd());
  if (match === null) return null;
  const marker = match[1] ?? match[3]!;
  const info = (match[2] ?? match[4]!).trim();
  return marker.length > markerMax ? null : { marker, info };
}

function closes(mark: Fence, open: Fence): boolean {
  return mark.info === '' && mark.marker.startsWith(open.marker);
}

/** The furthest position that the part can reach, with room for the closing fence of a block. */
function furthestEnd(
  text: string,
  from: number,
  opening: string,
  closingUnits: number,
  { unitsMax, unitsOf }: Cutting,
): number {
  const room = unitsMax - unitsOf(opening);
  const fits = (to: number, units: number): boolean => unitsOf(text.slice(from, to)) <= units;
  let step = unitsMax;
  while (from + step < text.length && fits(from + step, room)) step *= 2;
  let high = Math.min(text.length, from + step);
  if (high === text.length && fits(high, room)) return high;
  let low = from;
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle, room - closingUnits)) low = middle;
    else high = middle;
  }
  return isInsidePair(text, low) ? low - 1 : low;
}

/** Tries the kinds of places in the order of preference, and takes the latest place of a kind. */
function chooseCut(from: number, limit: number, places: BreakPoints): Cut {
  const half = from + (limit - from) / 2;
  const quarter = from + (limit - from) / 4;
  return (
    places.paragraph(half) ??
    places.line(quarter) ??
    places.space(quarter) ??
    places.line(from + 1) ??
    places.space(from + 1) ??
    places.anywhere()
  );
}

/** The places where one part may end. */
class BreakPoints {
  readonly #text: string;
  readonly #limit: number;
  readonly #lines: readonly Line[];
  /** The lines that hold the beginning of the part and its limit. */
  readonly #first: number;
  readonly #last: number;

  constructor(text: string, limit: number, lines: readonly Line[], first: number) {
    this.#text = text;
    this.#limit = limit;
    this.#lines = lines;
    this.#first = first;
    let last = first;
    while (lines[last]!.end < limit) last++;
    this.#last = last;
  }

  /** Before a blank line outside code. */
  paragraph(least: number): Cut | null {
    return this.#lineEnd(least, (index) => {
      const { fence } = this.#lines[index]!;
      return fence === null && this.#isBlank(this.#lines[index + 1]!);
    });
  }

  /**
   * Never directly behind the opening of a code block or before its end: the block would be empty.
   */
  line(least: number): Cut | null {
    return this.#lineEnd(least, (index) => {
      const line = this.#lines[index]!;
      const next = this.#lines[index + 1]!;
      return line.edge !== 'opens' && next.edge !== 'closes';
    });
  }

  #lineEnd(least: number, isAllowed: (index: number) => boolean): Cut | null {
    for (let index = this.#last; index >= this.#first; index--) {
      const { end, fence } = this.#lines[index]!;
      if (end > this.#limit || end === this.#text.length) continue;
      if (end < least) return null;
      if (!isAllowed(index)) continue;
      if (fence !== null) return { to: end, from: end + 1, fence };
      return this.#cutBetween(end);
    }
    return null;
  }

  /** Never before characters that would be a fence at the beginning of a line. */
  space(least: number): Cut | null {
    for (let index = this.#last; index >= this.#first; index--) {
      const line = this.#lines[index]!;
      if (line.edge !== null) continue;
      const begin = Math.max(least, line.start);
      for (let at = Math.min(this.#limit, line.end - 1); at >= begin; at--) {
        if (!/^[ \t](?!```|~~~)/.test(this.#text.slice(at, at + 4))) continue;
        const fence = this.#fenceBefore(index);
        return fence === null ? this.#cutBetween(at) : { to: at, from: at, fence };
      }
    }
    return null;
  }

  #fenceBefore(index: number): Fence | null {
    return this.#lines[index - 1]?.fence ?? null;
  }

  anywhere(): Cut {
    return { to: this.#limit, from: this.#limit, fence: this.#fenceBefore(this.#last) };
  }

  /** Outside code, drops the white space at the cut but keeps the indent of the next line. */
  #cutBetween(at: number): Cut {
    const to = this.#text.slice(0, at).trimEnd().length;
    let from = at;
    while (/[ \t]/.test(this.#text[from] ?? '')) from++;
    return { to, from: skipBlankLines(this.#text, from), fence: null };
  }

  #isBlank({ start, end }: Line): boolean {
    return this.#text.slice(start, end).trim() === '';
  }
}

function skipBlankLines(text: string, from: number): number {
  const blank = /(?:[^\S\n]*\n)*/y;
  blank.lastIndex = from;
  return from + (blank.exec(text)?.[0].length ?? 0);
}

function isInsidePair(text: string, at: number): boolean {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '');
}

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
