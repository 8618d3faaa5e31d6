import type { Picture } from './attachment.ts';
import type { Sensitivity } from './sensitivity.ts';

/** One line of a conversation's history, oldest first. */
export type HistoryLine = {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** What a model that sees is shown with it; absent: nothing. */
  readonly pictures?: readonly Picture[];
};

/** A message and the reply to it, as the next turn will see them; `reply` null: there was none. */
export type TurnRow = {
  readonly at: number;
  readonly text: string;
  readonly reply: string | null;
  /** The strictest of its message, its brain, and all that the model behind its reply was shown. */
  readonly sensitivity: Sensitivity;
  /** It had no answer, and its model answered once only without it: another failure is proof. */
  readonly doubted?: true;
  /** A block that was recalled from an earlier session: nobody said it. Left out: a turn. */
  readonly quoted?: true;
};

/** A quoted block on its way into a session, as strict as the strictest turn that it quotes. */
export type QuotedBlock = Pick<TurnRow, 'text' | 'sensitivity'>;

/**
 * What is known of turns that a session may show no more: the turns; or, where none are kept, only
 * how private the conversation has been since the start of this process.
 */
export type EarlierTurns =
  | { readonly kind: 'kept'; readonly turns: readonly TurnRow[] }
  | { readonly kind: 'stamp'; readonly sensitivity: Sensitivity };

export const noTurns: EarlierTurns = { kind: 'kept', turns: [] };

/** A stretch of a conversation between cuts; the newest is the active one. */
export type Session = { readonly number: number; readonly startedAt: number };

export type CutReason = 'command' | 'daily' | 'idle';

/** Ends the active session: the turns before it are no longer recalled. */
export type SessionMove = { readonly reason: CutReason; readonly at: number };

/** The window of history that a turn sees: at most so many turns, within so many characters. */
export const windowTurnsMax = 20;
export const windowCharactersMax = 16_000;

/** The newest rows (oldest first) that fit the window; a turn is taken whole or left out. */
export function fitWindow(rows: readonly TurnRow[]): readonly TurnRow[] {
  let characters = 0;
  let first = rows.length;
  while (first > 0 && rows.length - first < windowTurnsMax) {
    const row = rows[first - 1]!;
    characters += row.text.length + (row.reply?.length ?? 0);
    if (characters > windowCharactersMax) break;
    first--;
  }
  return first === 0 ? rows : rows.slice(first);
}

/** The history lines of some turns, oldest first. */
export function linesOf(rows: readonly TurnRow[]): readonly HistoryLine[] {
  const lines: HistoryLine[] = [];
  for (const row of rows) {
    if (row.text !== '') lines.push({ role: 'user', text: row.text });
    if (row.reply !== null) lines.push({ role: 'assistant', text: row.reply });
  }
  return lines;
}
