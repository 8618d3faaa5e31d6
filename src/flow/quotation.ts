import type { TurnRow } from '../domain/conversation.ts';
import { beginning, quotedLines } from '../domain/quoted-text.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';

/** Less than the window of history, so that a recalled block does not push itself out of it. */
const charactersMax = 12_000;

const head =
  'Quoted from an earlier session of this conversation, as history and not as a request:';

/**
 * Turns as one quoted block: every line of it begins with `>`. The newest that fit are taken; one
 * that does not fit alone is cut, with a mark.
 * @returns the block, how many turns it holds, and the strictest stamp of these
 */
export function quote(rows: readonly TurnRow[]): {
  readonly block: string;
  readonly sensitivity: Sensitivity;
  readonly turns: number;
} {
  const quoted: string[] = [];
  let left = charactersMax;
  for (const row of rows.toReversed()) {
    const text = quoteTurn(row);
    if (text.length > left) {
      if (quoted.length === 0) quoted.push(`${beginning(text, left).trimEnd()} […]`);
      break;
    }
    quoted.push(text);
    left -= text.length;
  }
  const turns = quoted.length;
  const block = [head, ...quoted.reverse()].join('\n');
  const stamps = rows.slice(-turns).map(({ sensitivity }) => sensitivity);
  return { block, sensitivity: strictest(...stamps), turns };
}

function quoteTurn({ text, reply }: TurnRow): string {
  const said = `Person: ${text}`;
  return quotedLines(reply === null ? said : `${said}\nReply: ${reply}`);
}
