/**
 * A model's text without its thinking. The marks around the thinking are rows of model-habits.ts.
 * The functions look at each character a bounded number of times, whatever the text is.
 */
import { answerMarks, thinkingMarks } from './model-habits.ts';

/**
 * The answer without the thinking that some models write before it. A block that never closes is
 * all thinking. Marks after the first word of the answer belong to the answer.
 * @returns the rest of the text
 */
export function withoutThinkBlock(text: string): string {
  let at = skipSpace(text, 0);
  for (;;) {
    const open = openingAt(text, at);
    if (open === null) break;
    const end = open.mark.end(text, open.end);
    if (end === null) return '';
    at = skipSpace(text, end);
  }
  return at === 0 ? text : text.slice(at);
}

/**
 * The part of a model's text that is for the person. The text may be whole, or still growing.
 *
 * - A block before the first word: as in `withoutThinkBlock`.
 * - A later block that begins or ends a line: the text behind it is the answer. If there is none,
 *   the text before it is.
 * - A closing mark without an opening, on its own line and outside code: all text before it is
 *   thinking. Chat templates may write the opening mark into the prompt.
 * - A text in channels (gpt-oss): only the final channel.
 */
export function withoutThinking(text: string): string {
  if (!mayHoldThinking(text)) return text;
  const final = finalChannelOf(text);
  if (final !== null) return final;
  return withoutAnswerMarks(behindThinking(withoutThinkBlock(text)));
}

/** Whether thinking stands behind a first word. Then the text after it is not the whole message. */
export function hasLaterBlock(text: string): boolean {
  return mayHoldThinking(text) && anyOpening.test(withoutThinkBlock(text));
}

/** Whether the text contains a possible mark. Every other text needs no change. */
export function mayHoldThinking(text: string): boolean {
  return anyMark.test(text);
}

type Mark = {
  /** Matches at the place `lastIndex`. */
  readonly open: RegExp;
  /** Matches a whole line. With more spaces before it the line is code. */
  readonly closesLine: RegExp;
  /** The place behind the next closing mark; null: there is none. */
  end(text: string, from: number): number | null;
};

const marks: readonly Mark[] = thinkingMarks.map(({ open, close }): Mark => {
  const closing = new RegExp(escaped(close), 'gi');
  return {
    open: new RegExp(open, 'iy'),
    closesLine: new RegExp(`^ {0,3}${escaped(close)}\\s*$`, 'i'),
    end(text, from) {
      closing.lastIndex = from;
      return closing.test(text) ? closing.lastIndex : null;
    },
  };
});

const anyOpening = new RegExp(thinkingMarks.map(({ open }) => open).join('|'), 'i');
const anyMark = new RegExp(
  [
    ...thinkingMarks.flatMap(({ open, close }) => [open, escaped(close)]),
    '<\\|channel\\|>',
    '^\\s*(?:analysis|commentary)[A-Z]',
  ].join('|'),
  'i',
);

function openingAt(text: string, at: number): { mark: Mark; end: number } | null {
  for (const mark of marks) {
    mark.open.lastIndex = at;
    if (mark.open.test(text)) return { mark, end: mark.open.lastIndex };
  }
  return null;
}

/**
 * Where a block opens in this line: at its beginning, or at its end after a whole sentence. A line
 * of code, of a list or of a quotation opens none.
 */
function openingIn(line: string): { mark: Mark; at: number; end: number } | null {
  if (/^(?: {4}|\t)/.test(line)) return null;
  const first = skipSpace(line, 0);
  const leading = openingAt(line, first);
  if (leading !== null) return { mark: leading.mark, at: first, end: leading.end };
  const found = anyOpening.exec(line);
  if (found === null || line.slice(found.index + found[0].length).trim() !== '') return null;
  const before = line.slice(0, found.index).trim();
  if (!/[.!?…。！？]["'”’)*_]*$/.test(before) || /^(?:>|[-*+]\s|\d+[.)]\s?$)/.test(before))
    return null;
  const opening = openingAt(line, found.index)!;
  return { mark: opening.mark, at: found.index, end: opening.end };
}

function behindThinking(text: string): string {
  let kept: string[] = [];
  let from = 0;
  let fence: string | null = null;
  /**
   * The end of a closing mark in a code fence; the fence may never close, and then the mark counts.
   */
  let endInFence: number | null = null;
  let lineEnd = -1;
  for (let at = 0; at <= text.length;) {
    if (at > lineEnd) lineEnd = endOfLine(text, at);
    const line = text.slice(at, lineEnd);
    const fenceHere = fenceOf(line);
    const closes = marks.some(({ closesLine }) => closesLine.test(line));
    if (fence !== null) {
      if (closes) endInFence = lineEnd;
      if (fenceHere !== null && line.trim() === fenceHere && fenceHere.startsWith(fence)) {
        [fence, endInFence] = [null, null];
      }
      at = lineEnd + 1;
      continue;
    }
    const opening = openingIn(line);
    if (opening !== null) {
      kept.push(text.slice(from, at + opening.at));
      const end = opening.mark.end(text, at + opening.end);
      if (end === null) return lastOf(kept);
      from = at = end;
      continue;
    }
    if (closes) [kept, from] = [[], lineEnd];
    else if (fenceHere !== null) fence = fenceHere;
    at = lineEnd + 1;
  }
  if (endInFence !== null) return text.slice(endInFence).trim();
  return from === 0 ? text : lastOf([...kept, text.slice(from)]);
}

function lastOf(pieces: readonly string[]): string {
  return pieces.findLast((piece) => piece.trim() !== '')?.trim() ?? '';
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** The marks that begin a code fence; null: this line begins none. */
function fenceOf(line: string): string | null {
  return /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
}

/**
 * The final channel of a text of gpt-oss, if its server passes on the channels; null: it has none.
 * Some servers remove the marks and pass on the names of the channels.
 *
 * Format: harmony, cookbook.openai.com/articles/openai-harmony.
 */
function finalChannelOf(text: string): string | null {
  if (/^\s*(?:<\|start\|>assistant\s*)?<\|channel\|>/i.test(text)) {
    const channel = text.lastIndexOf('<|channel|>final');
    const begin = channel < 0 ? -1 : text.indexOf('<|message|>', channel);
    if (begin < 0) return '';
    const final = text.slice(begin + '<|message|>'.length);
    const end = final.search(/<\|(?:end|return|start|call)\|>/);
    return end < 0 ? final : final.slice(0, end);
  }
  if (!/^\s*(?:analysis|commentary)[A-Z]/.test(text)) return null;
  const final = text.lastIndexOf('assistantfinal');
  return final < 0 ? null : text.slice(final + 'assistantfinal'.length);
}

function withoutAnswerMarks(text: string): string {
  let answer = text;
  for (const mark of answerMarks) answer = answer.replaceAll(mark, '');
  return answer;
}

/** The text without an end that may still become a mark, or thinking. */
export function withoutGrowingMark(text: string): string {
  return channelName.test(text) ? '' : text.replace(growingMark, '');
}

/** A text that may consist of channels without their marks. */
const channelName = /^\s*(?:analysis|commentary)(?:[A-Z]|$)/;

/**
 * A line that begins like a mark, with its attributes or its channel; or the beginning of a mark
 * that ends a channel.
 */
const growingMark = new RegExp(
  '(?:^|(?<=\\n))[ \\t]*(?:<[/|]?[a-z_:|]{0,24}|<[a-z:]{1,24}\\s[^<>\\n]{0,200}|' +
    '<\\|(?:channel|channel\\||start\\|)>[a-z]{0,12}(?:<[|a-z]{0,12})?|' +
    '◁[^▷\\n]{0,8}|\\[\\/?[A-Z_]{0,12})$|<(?:\\|[a-z]{0,8}\\|?)?$',
  'i',
);

function skipSpace(text: string, from: number): number {
  space.lastIndex = from;
  space.test(text);
  return space.lastIndex;
}

const space = /\s*/y;

function escaped(source: string): string {
  return source.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
