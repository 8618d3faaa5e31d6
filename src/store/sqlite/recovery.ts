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

/** @returns what is to be written down about it before anything is claimed */
export function recover(db: DatabaseSync, rows: WorkingSet): readonly Write[] {
  const unclean = db.prepare('SELECT clean FROM owner').get()?.['clean'] === 0;
  const writes: Write[] = [];
  const settlements = new Map<string, Settlement>();
  const seen = new Set<string>();
  const isHead = (box: string, channel: string, conversation: string): boolean => {
    const key = `${box} ${channel} ${conversation}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  };
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
    const late = record.late === 1;
    const head = unclean && !late && isHead('out', record.channel, record.conversation);
    const maySent = head && record.due_at === null;
    const attempts = record.attempts + (maySent ? 1 : 0);
    const possibleDuplicate = record.possible_duplicate === 1 || maySent;
    if (maySent) writes.push(['outboxDeferred', attempts, null, 0, 1, null, record.seq]);
    const reply = replyOf(record);
    const row = rows.restoreReply(reply, settlements.get(reply.inReplyTo) ?? null, record.seq, {
      attempt: attempts + 1,
      possibleDuplicate,
      late,
      dueAt: record.due_at,
    });
    settlements.set(reply.inReplyTo, row.settlement);
  }
  const last = 'SELECT max((SELECT max(seq) FROM inbox), (SELECT max(seq) FROM outbox)) AS seq';
  rows.startAfter(Number(db.prepare(last).get()?.['seq'] ?? 0));
  return writes;
}

/** Dead letters that are kept. */
export function deadLettersIn(db: DatabaseSync): number {
  const count = '(SELECT count(*) FROM inbox WHERE state = 2)';
  const more = '(SELECT count(*) FROM outbox WHERE state = 2)';
  const found = db.prepare(`SELECT ${count} + ${more} AS n`).get();
  return Number(found?.['n'] ?? 0);
}
