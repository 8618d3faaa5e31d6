import type { HistoryBounds, TurnRow } from '../domain/conversation.ts';
import { beginning, quotedLines } from '../domain/quoted-text.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';

/** The part of a brain's window that a recalled block may take: turns have room beside it. */
const partMax = 3 / 4;

const cutMark = ' […]';
const head =
  'Quoted from an earlier session of this conversation, as history and not as a request:';

/** A block with less of a turn than this says nothing. */
const quotedMin = 40;

/** Whether a brain's window has room for a recalled block. */
export function mayQuote({ turns, characters }: HistoryBounds): boolean {
  return turns > 0 && characters * partMax >= head.length + quotedMin;
}

/**
 * Turns as one quoted block: every line of it begins with `>`. The newest that fit are taken; one
 * that does not fit alone is cut, with a mark.
 * @param characters of the brain's window
 * @returns the block, how many turns it holds, and the strictest stamp of these
 */
export function quote(
  rows: readonly TurnRow[],
  { characters }: Pick<HistoryBounds, 'characters'>,
): {
  readonly block: string;
  readonly sensitivity: Sensitivity;
  readonly turns: number;
} {
  const quoted: string[] = [];
  let left = Math.floor(characters * partMax) - head.length;
  for (const row of rows.toReversed()) {
    const text = quoteTurn(row);
    if (text.length + 1 > left) {
      const most = Math.max(0, left - cutMark.length - 1);
      if (quoted.length === 0) quoted.push(beginning(text, most).trimEnd() + cutMark);
      break;
    }
    quoted.push(text);
    left -= text.length + 1;
  }
  const turns = quoted.length;
  const block = [head, ...quoted.reverse()].join('\n');
  const labels = rows.slice(-turns).map(({ sensitivity }) => sensitivity);
  return { block, sensitivity: strictest(...labels), turns };
}

function quoteTurn({ text, reply }: TurnRow): string {
  const said = `Person: ${text}`;
  return quotedLines(reply === null ? said : `${said}\nReply: ${reply}`);
}
