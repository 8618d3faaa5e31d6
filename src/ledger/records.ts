/** Lists of what went through the ledger and of what operators did: a part of its reader. */
import type { AuditRow } from '../domain/audit.ts';
import type { Page, PageAsked } from '../domain/page.ts';
import type { ConversationCount, DeliveryFilter, DeliveryRow } from '../domain/records.ts';
import type { MessageFilter, MessageRow } from '../domain/records.ts';
import type { MessageOrigin } from '../domain/story.ts';

/**
 * A page looks through a bounded number of rows. Where few match, it may hold fewer than it was
 * asked for, even none, and have a `next` all the same.
 */
export interface RecordsReader {
  /** The newest first, by their acceptance. */
  messages(filter: MessageFilter, page: PageAsked): Promise<Page<MessageRow>>;
  /** Whose some messages are, of those that are kept; the first `originsMax` are looked for. */
  origins(messageIds: readonly string[]): Promise<readonly MessageOrigin[]>;
  /** Replies, the newest first: a replayed reply is as new as its replay. */
  deliveries(filter: DeliveryFilter, page: PageAsked): Promise<Page<DeliveryRow>>;
  /** In the order of their channels. Empty without storage. */
  conversationCounts(): Promise<readonly ConversationCount[]>;
  /** What operators did, newest first; without storage the last thousand. */
  audit(page: PageAsked): Promise<Page<AuditRow>>;
}

export interface AuditTrail {
  /**
   * Writes down what an operator did.
   * @returns false: it could not be kept; otherwise it is as safe as this form can make it
   */
  recordWrite(row: AuditRow): Promise<boolean>;
}
