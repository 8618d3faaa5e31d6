/** Removes the rows of one conversation or one sender from memory. */
import type { MessageOwner } from '../../domain/story.ts';
import type { OpenClaims } from './open-claims.ts';
import type { Row } from './queue.ts';
import type { WorkingSet } from './working-set.ts';

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
