/** Taking away from memory what one conversation, or one sender, has in it. */
import type { Message } from '../../../domain/message.ts';
import type { Whose } from '../../../domain/story.ts';
import type { OpenClaims } from './open-claims.ts';
import type { Row } from './rows.ts';
import type { WorkingSet } from './working-set.ts';

/** @param sender null: that is not known */
export function isOf(
  whose: Whose,
  { channel, conversation }: Pick<Message, 'channel' | 'conversation'>,
  sender: string | null,
): boolean {
  if (channel !== whose.channel) return false;
  return whose.kind === 'conversation'
    ? conversation === whose.conversation
    : sender === whose.sender;
}

/** Whether a row is of a message with an id before this one, or of a reply to it. */
export function isBefore(row: Row, beforeId: string): boolean {
  return (row.box === 'in' ? row.head.id : row.head.inReplyTo) < beforeId;
}

/** Whether a row is theirs, or a reply to one of theirs as far as that is known. */
export function rowIsOf(whose: Whose, row: Row): boolean {
  return isOf(whose, row.queue, row.progress.sender);
}

/**
 * Takes such rows away, wherever they are; a claim on one of them is lost.
 * @returns how many went
 */
export function removeRows(
  rows: WorkingSet,
  open: OpenClaims,
  whose: Whose,
  matches: (row: Row) => boolean,
): number {
  for (const row of open.revoke(matches)) rows.giveBack(row);
  const conversation = whose.kind === 'conversation' ? whose.conversation : null;
  return rows.remove(whose.channel, conversation, matches);
}
