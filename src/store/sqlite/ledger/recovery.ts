/**
 * What a start finds: every unsettled row goes back into the working set, in its old order. After
 * an unclean stop the head of each conversation may have been under way: its message counts as
 * tried once more (a clean stop clears that count), and its reply may have been sent.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { MessageProgress } from '../../order/rows.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import type { NotedFailure } from '../files/database-files.ts';
import { aloneMax, attemptsMax, chooseSuspects, type Suspect } from '../../order/quarantine.ts';
import { unsettledMessages, unsettledReplies } from './stored-texts.ts';
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
  failed: NotedFailure | null = null,
): Recovered {
  const unclean = db.prepare('SELECT clean FROM owner').get()?.['clean'] === 0;
  const writes: Write[] = [];
  const blamedNow: number[] = [];
  const clearedNow: number[] = [];
  const tried: Suspect[] = [];
  const answered = new Set(
    db
      .prepare(answeredOnce)
      .all()
      .map(({ id }) => String(id)),
  );
  const progressOf = new Map<string, MessageProgress>();
  rows.restore();
  for (const { stored, ...found } of unsettledMessages(db)) {
    const row = rows.restoreMessage(stored);
    const { seq } = stored;
    const head = unclean && row.lane.inbox.peek() === row;
    const blamed = head && failed === null;
    const alone = found.alone - (failed?.alone === seq ? 1 : 0);
    if (alone < found.alone) writes.push(['inboxAlone', alone, seq]);
    const condemned = alone >= aloneMax;
    const cleared = !unclean && !condemned;
    const attempts = cleared ? 0 : found.attempts + (blamed ? 1 : 0);
    if (blamed) blamedNow.push(seq);
    if (cleared && found.attempts > 0) clearedNow.push(seq);
    const suspect = condemned || (head && attempts >= attemptsMax);
    row.attempt = attempts + 1;
    row.condemned = condemned;
    if (suspect) {
      row.lane.inBusy = true;
      tried.push({ row, alone });
    }
    if (answered.has(row.head.id)) progressOf.set(row.head.id, row.progress);
  }
  if (blamedNow.length > 0) writes.push(['inboxTried', JSON.stringify(blamedNow)]);
  if (clearedNow.length > 0) writes.push(['inboxCleared', JSON.stringify(clearedNow)]);
  const suspects = chooseSuspects(tried);
  for (const { stored, state } of unsettledReplies(db)) {
    const { inReplyTo } = stored.head;
    const row = rows.restoreReply(stored, progressOf.get(inReplyTo) ?? null, state);
    progressOf.set(inReplyTo, row.progress);
    const wasDue = (state.dueAt ?? 0) <= now;
    if (!unclean || !wasDue || !(row.parked || row.lane.outbox.peek() === row)) continue;
    writes.push(['outboxDied', stored.seq]);
    row.attempt++;
    // A crash loop is not the receiver's fault: it moves no reply along its schedule.
    row.replayedAfter++;
    row.possibleDuplicate = true;
  }
  rows.restored();
  rows.startAfter(lastSeq(db));
  return { writes, suspects };
}

/** Unsettled messages with an unsettled reply: they were dead, and are to be tried again. */
const answeredOnce =
  'SELECT inbox.id FROM outbox CROSS JOIN inbox ON inbox.id = outbox.message_id ' +
  'WHERE outbox.state = 0 AND inbox.state = 0';

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
