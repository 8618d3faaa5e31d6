import { linesOf, type HistoryLine, type TurnRow } from '../domain/conversation.ts';
import type { Turn } from './brain.ts';

/** The history, and last what the person said, with an attachment as a line below it. */
export function linesOfTurn(
  { message, text }: Pick<Turn, 'message' | 'text'>,
  history: readonly TurnRow[],
): readonly HistoryLine[] {
  const { media } = message;
  const before = linesOf(history);
  if (media === null) return [...before, { role: 'user', text }];
  const type = media.type === null ? '' : `${media.type} `;
  const line = `[attachment: ${type}${media.reference}]`;
  return [...before, { role: 'user', text: text === '' ? line : `${text}\n${line}` }];
}
