/** What operators did, and what is counted of conversations. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditRow } from '../../../domain/audit.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { ConversationCount } from '../../../domain/records.ts';
import { emptyPage, limitOf, pageOf, keyAfter } from '../../pages.ts';
import { auditRowOf, type AuditRecord } from '../../read/audit.ts';

type Kept = AuditRecord & { readonly seq: number };

/** Before every row. */
const newest: [number] = [Number.MAX_SAFE_INTEGER];

export function listAudit(db: DatabaseSync, asked: PageAsked): Page<AuditRow> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, newest);
  if (after === null) return emptyPage;
  const rows = db
    .prepare(
      'SELECT seq, at, action, target, status, reason FROM audit WHERE seq < ? ' +
        'ORDER BY seq DESC LIMIT ?',
    )
    .all(...after, limit + 1) as unknown as Kept[];
  return pageOf(rows, limit, ({ seq }) => [seq], auditRowOf);
}

export function listConversationCounts(db: DatabaseSync): readonly ConversationCount[] {
  const rows = db
    .prepare('SELECT channel, conversations, turns, last_at FROM conversation_counts')
    .all();
  return rows.map((row) => ({
    channel: String(row['channel']) as ChannelKey,
    conversations: Number(row['conversations']),
    turns: Number(row['turns']),
    lastAt: Number(row['last_at']),
  }));
}
