/** What svc tells an operator when it stops. */
import { plural } from '../domain/plural.ts';
import type { Durability, Gauges } from '../ledger/ledger.ts';

/** Says how much work is under way, how long it may take, and how to end it now. */
export function describeDraining(gauges: Gauges, { drainsBacklog, drainMs }: Durability): string {
  const { inboxClaimed, inboxWaiting, outboxClaimed, outboxWaiting } = gauges;
  const messages = inboxClaimed + (drainsBacklog ? inboxWaiting : 0);
  const replies = outboxClaimed + (drainsBacklog ? outboxWaiting : 0);
  if (messages + replies === 0) return 'No new messages; nothing is in hand.';
  const parts = [
    ...(messages === 0 ? [] : [plural(messages, 'message')]),
    ...(replies === 0 ? [] : [plural(replies, 'reply', 'replies')]),
  ];
  return (
    `No new messages; finishing what is in hand (${parts.join(', ')}), ` +
    `for ${Math.ceil(drainMs / 1_000)} s at most. A second Ctrl-C (or SIGTERM) ends it now.`
  );
}

/** Names unfinished work, which is lost without storage. */
export function describeLost(rows: number, ids: readonly string[]): string {
  const [were, are] = rows === 1 ? ['was', 'is'] : ['were', 'are'];
  return `${plural(rows, 'row')} ${were} not finished in time and ${are} lost: ${ids.join(' ')}`;
}
