import type { HistoryLine } from '../domain/conversation.ts';
import type { Turn } from './brain.ts';

/** The history, and last what the person said, with an attachment as a line below it. */
export function linesOf({ message, text, history }: Turn): readonly HistoryLine[] {
  const { media } = message;
  if (media === null) return [...history, { role: 'user', text }];
  const type = media.type === null ? '' : `${media.type} `;
  const line = `[attachment: ${type}${media.reference}]`;
  return [...history, { role: 'user', text: text === '' ? line : `${text}\n${line}` }];
}
