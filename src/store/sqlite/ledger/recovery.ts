/**
 * What a start finds: every unsettled row goes back into the working set, in its old order. After
 * an unclean stop the head of each conversation may have been under way: its message counts as
 * tried once more (a clean stop clears that count), and its reply may have been sent.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { MessageProgress } from '../../order/rows.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import { messageOf, replyOf, type InboxRecord, type OutboxRecord } from '../write/row-codec.ts';
import type { NotedFailure } from '../files/database-files.ts';
import { aloneMax, attemptsMax, chooseSuspects, type Suspect } from '../../order/quarantine.ts';
import type { Stamps } from './stamps.ts';
import type { Write } from '../write/statements.ts';

export type Recovered = {
  /** To be written down before anything is claimed. */
  readonly writes: readonly Write[];
  /** Held back in the working set. */
  readonly suspects: readonly Suspect[];
};

/**
 * @param now milliseconds since 1970: what was due by then may have been sent
 * @param failed the storage ended the process before: no message counts as tried for that
 */
export function recover(
  db: DatabaseSync,
  rows: WorkingSet,
  now: number,
  stamps: Stamps,
  failed: NotedFailure | null = null,
): Recovered {
  const unclean = db.prepare('SELECT clean FROM owner').get()?.['clean'] === 0;
  const writes: Write[] = [];
  const tried: Suspect[] = [];
  const progressOf = new Map<string, MessageProgress>();
  const seen = new Set<string>();
  const isHead = (box: string, channel: string, conversation: string): boolean => {
    const key = `${box} ${channel} ${conversation}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  };
  rows.restore();
  const inbox = db.prepare('SELECT * FROM inbox WHERE state = 0 ORDER BY seq').iterate();
  for (const record of inbox as Iterable<unknown> as Iterable<InboxRecord>) {
    const head = unclean && isHead('in', record.channel, record.conversation);
    const blamed = head && failed === null;
    const alone = record.alone - (failed?.alone === record.seq ? 1 : 0);
    if (alone < record.alone) writes.push(['inboxAlone', alone, record.seq]);
    const condemned = alone >= aloneMax;
    const cleared = !unclean && !condemned;
    const attempts = cleared ? 0 : record.attempts + (blamed ? 1 : 0);
    if (blamed) writes.push(['inboxTried', attempts, record.seq]);
    if (cleared && record.attempts > 0) writes.push(['inboxCleared', record.seq]);
    const suspect = condemned || (head && attempts >= attemptsMax);
    const row = rows.addMessage(messageOf(record, stamps), record.seq, attempts + 1, suspect);
    row.condemned = condemned;
    if (suspect) tried.push({ row, alone });
    progressOf.set(row.message.id, row.progress);
  }
  const suspects = chooseSuspects(tried);
  const outbox = db.prepare('SELECT * FROM outbox WHERE state = 0 ORDER BY seq').iterate();
  for (const record of outbox as Iterable<unknown> as Iterable<OutboxRecord>) {
    const parked = record.parked === 1;
    const head = unclean && !parked && isHead('out', record.channel, record.conversation);
    const wasDue = (record.due_at ?? 0) <= now;
    const maySent = unclean && wasDue && (parked || head);
    const died = maySent ? 1 : 0;
    if (maySent) writes.push(['outboxDied', record.seq]);
    const reply = replyOf(record);
    const row = rows.restoreReply(reply, progressOf.get(reply.inReplyTo) ?? null, record.seq, {
      attempt: record.attempts + died + 1,
      // A crash loop is not the receiver's fault: it moves no reply along its schedule.
      replayedAfter: record.replayed + died,
      possibleDuplicate: record.possible_duplicate === 1 || maySent,
      late: record.late === 1,
      parked,
      dueAt: record.due_at,
    });
    progressOf.set(reply.inReplyTo, row.progress);
  }
  rows.restored();
  rows.startAfter(lastSeq(db));
  return { writes, suspects };
}

/** The highest number ever given, also where its row has been deleted. */
function lastSeq(db: DatabaseSync): number {
  const inbox = '(SELECT max(seq) FROM inbox)';
  const outbox = '(SELECT max(seq) FROM outbox)';
  const kept =
    '(SELECT max(coalesce((SELECT max(seq) FROM notes), 0), ' +
    'coalesce((SELECT max(seq) FROM tool_uses), 0)))';
  const given = `max(last_seq, coalesce(${inbox}, 0), coalesce(${outbox}, 0), ${kept})`;
  return Number(db.prepare(`SELECT ${given} AS seq FROM owner`).get()?.['seq'] ?? 0);
}

/** Replies come in the order of their ids, but for those that were replayed. */
const newestReplies = 'SELECT substr(id, 1, 22) AS id FROM outbox ORDER BY seq DESC LIMIT 1000';

/** The newest id of a message or reply that was ever written down; empty: none was. */
export function lastId(db: DatabaseSync): string {
  const inbox = '(SELECT max(id) FROM inbox)';
  const outbox = `(SELECT max(id) FROM (${newestReplies}))`;
  const given = `max(last_id, coalesce(${inbox}, ''), coalesce(${outbox}, ''))`;
  return String(db.prepare(`SELECT ${given} AS id FROM owner`).get()?.['id'] ?? '');
}
