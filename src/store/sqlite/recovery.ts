/**
 * What a start finds: every unsettled row goes back into the working set, in its old order. After
 * an unclean stop the head of each conversation may have been under way: its message counts as
 * tried once more, its reply may have been sent.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Settlement } from '../rows.ts';
import type { WorkingSet } from '../working-set.ts';
import { messageOf, replyOf, type InboxRecord, type OutboxRecord } from './bodies.ts';
import type { Write } from './statements.ts';

/**
 * @param now milliseconds since 1970: what was due by then may have been sent
 * @returns what is to be written down about it before anything is claimed
 */
export function recover(db: DatabaseSync, rows: WorkingSet, now: number): readonly Write[] {
  const unclean = db.prepare('SELECT clean FROM owner').get()?.['clean'] === 0;
  const writes: Write[] = [];
  const settlements = new Map<string, Settlement>();
  const seen = new Set<string>();
  const isHead = (box: string, channel: string, conversation: string): boolean => {
    const key = `${box} ${channel} ${conversation}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  };
  rows.restore();
  const inbox = db.prepare('SELECT * FROM inbox WHERE state = 0 ORDER BY seq').iterate();
  for (const record of inbox as Iterable<unknown> as Iterable<InboxRecord>) {
    const head = unclean && isHead('in', record.channel, record.conversation);
    const attempts = record.attempts + (head ? 1 : 0);
    if (head) writes.push(['inboxTried', attempts, record.seq]);
    const row = rows.addMessage(messageOf(record), record.seq, attempts + 1);
    settlements.set(row.message.id, row.settlement);
  }
  const outbox = db.prepare('SELECT * FROM outbox WHERE state = 0 ORDER BY seq').iterate();
  for (const record of outbox as Iterable<unknown> as Iterable<OutboxRecord>) {
    const parked = record.parked === 1;
    const head = unclean && !parked && isHead('out', record.channel, record.conversation);
    const wasDue = (record.due_at ?? 0) <= now;
    const maySent = unclean && wasDue && (parked || head);
    const attempts = record.attempts + (maySent ? 1 : 0);
    const possibleDuplicate = record.possible_duplicate === 1 || maySent;
    if (maySent) {
      const { due_at, late, seq } = record;
      writes.push(['outboxDeferred', attempts, due_at, late, 1, null, seq]);
    }
    const reply = replyOf(record);
    const row = rows.restoreReply(reply, settlements.get(reply.inReplyTo) ?? null, record.seq, {
      attempt: attempts + 1,
      possibleDuplicate,
      replayedAfter: record.replayed,
      late: record.late === 1,
      parked,
      dueAt: record.due_at,
    });
    settlements.set(reply.inReplyTo, row.settlement);
  }
  rows.restored();
  rows.startAfter(lastSeq(db));
  return writes;
}

/** The highest number ever given, also where its row has been deleted. */
function lastSeq(db: DatabaseSync): number {
  const inbox = '(SELECT max(seq) FROM inbox)';
  const outbox = '(SELECT max(seq) FROM outbox)';
  const given = `max(last_seq, coalesce(${inbox}, 0), coalesce(${outbox}, 0))`;
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

/** Dead letters that are kept. */
export function deadLettersIn(db: DatabaseSync): number {
  const count = '(SELECT count(*) FROM inbox WHERE state = 2)';
  // The parts of a split reply that died together are one.
  const more = '(SELECT count(DISTINCT substr(id, 1, 22)) FROM outbox WHERE state = 2)';
  const found = db.prepare(`SELECT ${count} + ${more} AS n`).get();
  return Number(found?.['n'] ?? 0);
}
