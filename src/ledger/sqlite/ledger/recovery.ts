/**
 * What a start finds: every unsettled row goes back into the working set, in its old order. After
 * an unclean stop the head of each conversation may have been under way: its message counts as
 * tried once more (a clean stop clears that count), and its reply may have been sent. Where an
 * uncaught exception ended the process, only the messages at work just then count.
 */
import type { DatabaseSync } from 'node:sqlite';
import {
  Recovering,
  type Recovered as FoundRows,
  type SoonerReply,
} from '../../engine/recovering.ts';
import type { InRow } from '../../engine/order/rows.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { NotedEnd } from '../files/last-shutdown.ts';
import type { Suspect } from '../../engine/order/crash-isolation.ts';
import { unsettledMessages, unsettledReplies } from './stored-texts.ts';
import type { Write } from '../write/statements.ts';

export type Recovered = {
  /** To be written down before anything is claimed. */
  readonly writes: readonly Write[];
  /** Held back in the working set. */
  readonly suspects: readonly Suspect[];
  /** The clock was ahead when their next tries were planned. */
  readonly sooner: readonly SoonerReply[];
};

/**
 * @param now milliseconds since 1970: what was due by then may have been sent
 * @param noted what the process before has said of its end
 */
export function recover(
  db: DatabaseSync,
  rows: WorkingSet,
  now: number,
  { failed, crashed }: NotedEnd,
): Recovered {
  const unclean = db.prepare('SELECT clean FROM owner').get()?.['clean'] === 0;
  const last = lastSeq(db);
  // An older release, which writes no notes, has written to this database since the note.
  const atWork = crashed === null || crashed.lastSeq < last ? null : new Set(crashed.atWork);
  const mayBlame = ({ head }: InRow): boolean =>
    failed === null && (atWork === null || atWork.has(head.id));
  const ranAlone = ({ seq }: InRow): boolean => failed?.alone === seq;
  const recovering = new Recovering(rows, { unclean, mayBlame, ranAlone }, now);
  const answered = answeredOnce(db);
  for (const found of unsettledMessages(db)) {
    recovering.message({ ...found, answered: answered.has(found.stored.head.id) });
  }
  for (const found of unsettledReplies(db)) recovering.reply(found);
  const { suspects, ...changed } = recovering.done();
  rows.startAfter(last);
  return { writes: writesOf(changed), suspects, sooner: changed.sooner };
}

function writesOf({
  blamed,
  cleared,
  marked,
  died,
  sooner,
}: Omit<FoundRows, 'suspects'>): readonly Write[] {
  const writes = marked.map(({ row, alone }): Write => ['inboxAlone', alone, row.seq]);
  if (blamed.length > 0) writes.push(['inboxTried', numbersOf(blamed)]);
  if (cleared.length > 0) writes.push(['inboxCleared', numbersOf(cleared)]);
  for (const { seq } of died) writes.push(['outboxDied', seq]);
  for (const { row, dueAt } of sooner) writes.push(['outboxDue', dueAt, row.seq]);
  return writes;
}

function numbersOf(rows: readonly InRow[]): string {
  return JSON.stringify(rows.map(({ seq }) => seq));
}

/** Unsettled messages with an unsettled reply: they were dead, and are to be tried again. */
function answeredOnce(db: DatabaseSync): ReadonlySet<string> {
  const found = db.prepare(
    'SELECT inbox.id FROM outbox CROSS JOIN inbox ON inbox.id = outbox.message_id ' +
      'WHERE outbox.state = 0 AND inbox.state = 0',
  );
  return new Set(found.all().map(({ id }) => String(id)));
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
