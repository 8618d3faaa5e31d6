/**
 * Recovery at the start: every unsettled row goes back into the working set, in its old order.
 *
 * After an unclean stop the head of each queue may have been in work. Its message then counts as
 * tried once more, and its reply may have been sent already. A clean stop clears that count. After
 * an uncaught exception only the messages in work at that moment count.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  Recovering,
  type Recovered as FoundRows,
  type SoonerReply,
  type FoundMessage,
  type FoundReply,
  type Suspect,
} from '../../engine/crash-isolation.ts';
import { bytesOf, type InRow, type Row } from '../../engine/queue.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { NotedEnd } from '../files/database-files.ts';
import type { Write } from '../write/statements.ts';
import type { FailureKind } from '../../../domain/failure.ts';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../../domain/ids.ts';
import { messageOf, replyOf, type InboxRecord, type OutboxRecord } from '../write/row-codec.ts';
import type { Labels } from './sensitivity-labels.ts';

export type Recovered = {
  /** The writes to commit before anything is claimed. */
  readonly writes: readonly Write[];
  /** Suspected messages, held back in the working set. */
  readonly suspects: readonly Suspect[];
  /** Replies whose next attempt comes sooner, since the clock was ahead when it was planned. */
  readonly sooner: readonly SoonerReply[];
};

/**
 * Restores all unsettled rows.
 * @param now milliseconds since 1970: a reply due by then may have been sent
 * @param noted what the process before has noted about its end
 */
export function recover(
  db: DatabaseSync,
  rows: WorkingSet,
  now: number,
  { failed, crashed }: NotedEnd,
): Recovered {
  const unclean = db.prepare('SELECT clean FROM owner').get()?.['clean'] === 0;
  const last = lastSeq(db);
  // If the note is older than the database, an older release, which writes no notes, has run since.
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

/** Unsettled messages with an unsettled reply: replayed dead letters. */
function answeredOnce(db: DatabaseSync): ReadonlySet<string> {
  const found = db.prepare(
    'SELECT inbox.id FROM outbox CROSS JOIN inbox ON inbox.id = outbox.message_id ' +
      'WHERE outbox.state = 0 AND inbox.state = 0',
  );
  return new Set(found.all().map(({ id }) => String(id)));
}

/** The highest sequence number ever given, even if its row has been deleted. */
function lastSeq(db: DatabaseSync): number {
  const inbox = '(SELECT max(seq) FROM inbox)';
  const outbox = '(SELECT max(seq) FROM outbox)';
  const kept =
    '(SELECT max(coalesce((SELECT max(seq) FROM notes), 0), ' +
    'coalesce((SELECT max(seq) FROM tool_uses), 0)))';
  const given = `max(last_seq, coalesce(${inbox}, 0), coalesce(${outbox}, 0), ${kept})`;
  return Number(db.prepare(`SELECT ${given} AS seq FROM owner`).get()?.['seq'] ?? 0);
}

/** Replies stand in the order of their ids, except replayed ones. */
const newestReplies = 'SELECT substr(id, 1, 22) AS id FROM outbox ORDER BY seq DESC LIMIT 1000';

/** The newest id of any stored message or reply; empty: there is none. */
export function lastId(db: DatabaseSync): string {
  const inbox = '(SELECT max(id) FROM inbox)';
  const outbox = `(SELECT max(id) FROM (${newestReplies}))`;
  const given = `max(last_id, coalesce(${inbox}, ''), coalesce(${outbox}, ''))`;
  return String(db.prepare(`SELECT ${given} AS id FROM owner`).get()?.['id'] ?? '');
}

/**
 * Reads the texts of restored rows. A start may find very many rows, and loads only what order and
 * totals need. The text is read when the row is handed out.
 */
export class StoredTexts {
  readonly #labels: Labels;
  readonly #inbox: StatementSync;
  readonly #outbox: StatementSync;

  /** @param db a read-only connection */
  constructor(db: DatabaseSync, labels: Labels) {
    this.#labels = labels;
    this.#inbox = db.prepare('SELECT * FROM inbox WHERE seq = ?');
    this.#outbox = db.prepare('SELECT * FROM outbox WHERE seq = ?');
  }

  /**
   * Loads the text of a row.
   * @throws when the row cannot be read
   */
  read(row: Row): void {
    const record = (row.box === 'in' ? this.#inbox : this.#outbox).get(row.seq) as unknown;
    if (record === undefined) throw new Error(`the row of ${row.head.id} cannot be found`);
    if (row.box === 'in') row.message = messageOf(record as InboxRecord, this.#labels);
    else row.reply = replyOf(record as OutboxRecord);
  }
}

/**
 * Makes the statement fail on damaged JSON. `->>` alone would accept JSON5 too, which the claim
 * cannot read.
 */
const checkedBody = "iif(json_valid(body), body, '{')";

/** The length is that of the JSON, which includes its keys. */
const messageColumns =
  `seq, id, channel, conversation, accepted_at, ${checkedBody} ->> '$.sender.id', length(body), ` +
  'attempts, alone';
type MessageFields = readonly [
  seq: number,
  id: MessageId,
  channel: ChannelKey,
  conversation: ConversationId,
  acceptedAt: number,
  sender: string | null,
  length: number,
  attempts: number,
  alone: number,
];

/** Damaged JSON of a failure stops nothing: it only gives the reason of an attempt. */
const failureJson = 'iif(json_valid(failure), failure, NULL)';
const replyColumns =
  `seq, id, channel, conversation, created_at, message_id, length(${checkedBody} ->> '$.text'), ` +
  'attempts, replayed, possible_duplicate, late, parked, due_at, ' +
  `${failureJson} ->> '$.kind', ${failureJson} ->> '$.status', ${failureJson} ->> '$.retryAfterMs'`;
type ReplyFields = readonly [
  seq: number,
  id: ReplyId,
  channel: ChannelKey,
  conversation: ConversationId,
  createdAt: number,
  inReplyTo: MessageId,
  length: number | null,
  attempts: number,
  replayed: number,
  possibleDuplicate: number,
  late: number,
  parked: number,
  dueAt: number | null,
  failure: FailureKind | null,
  status: number | null,
  retryAfterMs: number | null,
];

type FoundStored = Omit<FoundMessage, 'answered'>;

/**
 * Every unsettled message, in order.
 * @param seq only the message with this number; default: all
 */
export function* unsettledMessages(db: DatabaseSync, seq?: number): Generator<FoundStored> {
  for (const fields of readRows<MessageFields>(db, messageColumns, 'inbox', seq)) {
    const [number, id, channel, conversation, acceptedAt, sender, length, attempts, alone] = fields;
    if (sender === null) throw new Error(`the message ${id} names no sender`);
    const bytes = bytesOf(length + 2 * conversation.length);
    const head = { id, acceptedAt };
    const stored = { head, channel, conversation, seq: number, bytes, sender };
    yield { stored, attempts, alone };
  }
}

/**
 * Every unsettled reply, in order.
 * @param seq only the reply with this number; default: all
 */
export function* unsettledReplies(db: DatabaseSync, seq?: number): Generator<FoundReply> {
  for (const fields of readRows<ReplyFields>(db, replyColumns, 'outbox', seq)) {
    const [number, id, channel, conversation, createdAt, inReplyTo, length, ...state] = fields;
    const [attempts, replayedAfter, possibleDuplicate, late, parked, dueAt, ...reason] = state;
    const [kind, status, retryAfterMs] = reason;
    if (length === null) throw new Error(`the reply ${id} has no text`);
    const bytes = bytesOf(length + conversation.length);
    const head = { id, inReplyTo, createdAt };
    yield {
      stored: { head, channel, conversation, seq: number, bytes },
      state: {
        attempt: attempts + 1,
        replayedAfter,
        possibleDuplicate: possibleDuplicate === 1,
        late: late === 1,
        parked: parked === 1,
        dueAt,
        why: kind === null ? null : { kind, status },
      },
      retryAfterMs,
    };
  }
}

/** Reads rows as arrays: they take half the memory of objects, and a start reads very many. */
function readRows<Fields>(
  db: DatabaseSync,
  columns: string,
  table: 'inbox' | 'outbox',
  seq: number | undefined,
): Iterable<Fields> {
  const which = seq === undefined ? '' : 'AND seq = ?';
  const found = db.prepare(`SELECT ${columns} FROM ${table} WHERE state = 0 ${which} ORDER BY seq`);
  found.setReturnArrays(true);
  const rows: unknown = seq === undefined ? found.iterate() : found.all(seq);
  return rows as Iterable<Fields>;
}
