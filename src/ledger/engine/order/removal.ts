/** Removes the rows of one conversation or one sender from memory. */
import type { Message } from '../../../domain/message.ts';
import type { MessageOwner } from '../../../domain/story.ts';
import type { OpenClaims } from './open-claims.ts';
import type { Row } from './rows.ts';
import type { WorkingSet } from './working-set.ts';

/** @param sender null: not known */
export function isOf(
  whose: MessageOwner,
  { channel, conversation }: Pick<Message, 'channel' | 'conversation'>,
  sender: string | null,
): boolean {
  if (channel !== whose.channel) return false;
  return whose.kind === 'conversation'
    ? conversation === whose.conversation
    : sender === whose.sender;
}

/** Whether the row is a message with a smaller id than this one, or a reply to such a message. */
export function isBefore(row: Row, beforeId: string): boolean {
  return (row.box === 'in' ? row.head.id : row.head.inReplyTo) < beforeId;
}

/** Whether the row is theirs, or a reply to a message that is known to be theirs. */
export function rowIsOf(whose: MessageOwner, row: Row): boolean {
  return isOf(whose, row.queue, row.progress.sender);
}

/**
 * Removes matching rows in any state. A claim on one of them is lost.
 * @returns how many rows it removed
 */
export function removeRows(
  rows: WorkingSet,
  open: OpenClaims,
  whose: MessageOwner,
  matches: (row: Row) => boolean,
): number {
  for (const row of open.revoke(matches)) rows.giveBack(row);
  const conversation = whose.kind === 'conversation' ? whose.conversation : null;
  return rows.remove(whose.channel, conversation, matches);
}
