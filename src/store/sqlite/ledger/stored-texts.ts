/**
 * Rows that were on the disk before they were in memory. A start has many, and takes in only what
 * order and totals need of each: what it says is read when it is handed out.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Row, StoredMessage, StoredReply } from '../../order/rows.ts';
import { bytesOfMessage, bytesOfReply } from '../../order/weight.ts';
import { messageOf, replyOf, type InboxRecord, type OutboxRecord } from '../write/row-codec.ts';
import type { Stamps } from './stamps.ts';

export class StoredTexts {
  readonly #stamps: Stamps;
  readonly #inbox: StatementSync;
  readonly #outbox: StatementSync;

  /** @param db a connection that only reads */
  constructor(db: DatabaseSync, stamps: Stamps) {
    this.#stamps = stamps;
    this.#inbox = db.prepare('SELECT * FROM inbox WHERE seq = ?');
    this.#outbox = db.prepare('SELECT * FROM outbox WHERE seq = ?');
  }

  /** @throws when the row cannot be read */
  read(row: Row): void {
    const record = (row.box === 'in' ? this.#inbox : this.#outbox).get(row.seq) as unknown;
    if (record === undefined) throw new Error(`the row of ${row.head.id} cannot be found`);
    if (row.box === 'in') row.message = messageOf(record as InboxRecord, this.#stamps);
    else row.reply = replyOf(record as OutboxRecord);
  }
}

/** @throws when its JSON is damaged */
export function storedMessage(record: InboxRecord, stamps: Stamps): StoredMessage {
  const message = messageOf(record, stamps);
  const { id, acceptedAt, channel, conversation, sender } = message;
  const [head, bytes] = [{ id, acceptedAt }, bytesOfMessage(message)];
  return { head, channel, conversation, seq: record.seq, bytes, sender: sender.id };
}

/** @throws as for a message */
export function storedReply(record: OutboxRecord): StoredReply {
  const reply = replyOf(record);
  const { id, inReplyTo, createdAt, conversation } = reply;
  const [head, bytes] = [{ id, inReplyTo, createdAt }, bytesOfReply(reply)];
  return { head, channel: reply.address.channel, conversation, seq: record.seq, bytes };
}
