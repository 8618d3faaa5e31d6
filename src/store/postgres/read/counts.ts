/** How many conversations and turns are kept of each channel. */
import type { ChannelKey } from '../../../domain/ids.ts';
import type { ConversationCount } from '../../../domain/records.ts';
import { num, type Ask } from './ask.ts';

const counts =
  `SELECT channel, ${num('count(*)', 'conversations')}, ${num('sum(turns)', 'turns')}, ` +
  `${num('max(last)', 'lastAt')} FROM (SELECT channel, conversation, count(*) AS turns, ` +
  'max(at) AS last FROM svc.turn GROUP BY channel, conversation) AS spoken ' +
  'GROUP BY channel ORDER BY channel';

export async function listConversationCounts(ask: Ask): Promise<readonly ConversationCount[]> {
  return ask<ConversationCount & { readonly channel: ChannelKey }>(counts);
}
