/**
 * Rows that were on the disk before they were in memory. A start may find very many, and takes in
 * only what order and totals need of each: what it says is read when it is handed out.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { FailureKind } from '../../../domain/failure.ts';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../../domain/ids.ts';
import type { FoundMessage, FoundReply } from '../../engine/recovering.ts';
import type { Row } from '../../engine/order/rows.ts';
import { bytesOf } from '../../engine/order/weight.ts';
import { messageOf, replyOf, type InboxRecord, type OutboxRecord } from '../write/row-codec.ts';
import type { Labels } from './sensitivity-labels.ts';

export class StoredTexts {
  readonly #labels: Labels;
  readonly #inbox: StatementSync;
  readonly #outbox: StatementSync;

  /** @param db a connection that only reads */
  constructor(db: DatabaseSync, labels: Labels) {
    this.#labels = labels;
    this.#inbox = db.prepare('SELECT * FROM inbox WHERE seq = ?');
    this.#outbox = db.prepare('SELECT * FROM outbox WHERE seq = ?');
  }

  /** @throws when the row cannot be read */
  read(row: Row): void {
    const record = (row.box === 'in' ? this.#inbox : this.#outbox).get(row.seq) as unknown;
    if (record === undefined) throw new Error(`the row of ${row.head.id} cannot be found`);
    if (row.box === 'in') row.message = messageOf(record as InboxRecord, this.#labels);
    else row.reply = replyOf(record as OutboxRecord);
  }
}

/**
 * Damaged JSON is an error of the statement: `->>` alone would take JSON5 as well, which the claim
 * cannot read.
 */
const json = "iif(json_valid(body), body, '{')";

/** A message's JSON has its keys in it, too. */
const messageColumns =
  `seq, id, channel, conversation, accepted_at, ${json} ->> '$.sender.id', length(body), ` +
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

/** Of no weight: where it is damaged nobody is held up. */
const why = 'iif(json_valid(failure), failure, NULL)';
const replyColumns =
  `seq, id, channel, conversation, created_at, message_id, length(${json} ->> '$.text'), ` +
  'attempts, replayed, possible_duplicate, late, parked, due_at, ' +
  `${why} ->> '$.kind', ${why} ->> '$.status', ${why} ->> '$.retryAfterMs'`;
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
 * @param seq left out: of all numbers
 */
export function* unsettledMessages(db: DatabaseSync, seq?: number): Generator<FoundStored> {
  for (const fields of find<MessageFields>(db, messageColumns, 'inbox', seq)) {
    const [number, id, channel, conversation, acceptedAt, sender, length, attempts, alone] = fields;
    if (sender === null) throw new Error(`the message ${id} names no sender`);
    const bytes = bytesOf(length + 2 * conversation.length);
    const head = { id, acceptedAt };
    const stored = { head, channel, conversation, seq: number, bytes, sender };
    yield { stored, attempts, alone };
  }
}

/** Every unsettled reply, in order. @param seq as for messages */
export function* unsettledReplies(db: DatabaseSync, seq?: number): Generator<FoundReply> {
  for (const fields of find<ReplyFields>(db, replyColumns, 'outbox', seq)) {
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

/** Arrays take half the memory of records, of which a start makes very many. */
function find<Fields>(
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
