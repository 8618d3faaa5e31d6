/** Dead letters: how many there are, and what a person may do with one. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { wholeIdLength } from '../../order/rows.ts';
import type { DeadLetterMove } from '../../store.ts';
import { messageOf, replyOf, type InboxRecord, type OutboxRecord } from '../write/row-codec.ts';
import type { SqliteParts } from './parts.ts';
import type { HistoryCache } from './history-cache.ts';

/** A dead letter's rows: a message, or the parts of a reply in their order. */
type Found =
  | { readonly kind: 'message'; readonly seq: number }
  | { readonly kind: 'reply'; readonly seqs: readonly number[] };

export class DeadLetters {
  readonly #parts: SqliteParts;
  readonly #historyCache: HistoryCache;
  readonly #message: StatementSync;
  readonly #replies: StatementSync;
  readonly #inbox: StatementSync;
  readonly #outbox: StatementSync;
  /**
   * Ids of messages and of whole replies, since the parts of a reply may die at different times and
   * are one dead letter. A number would not do: the sweep tells only afterwards what it took, which
   * may be one that somebody else has found, or one that was gone before they were counted.
   */
  readonly #ids = new Set<string>();

  constructor(parts: SqliteParts, historyCache: HistoryCache) {
    this.#parts = parts;
    this.#historyCache = historyCache;
    const { reader } = parts;
    this.#message = reader.prepare('SELECT seq FROM inbox WHERE id = ? AND state = 2');
    this.#replies = reader.prepare(
      'SELECT seq FROM outbox WHERE state = 2 AND id >= ? AND id < ? ORDER BY id',
    );
    this.#inbox = reader.prepare('SELECT * FROM inbox WHERE seq = ? AND state = 0');
    this.#outbox = reader.prepare('SELECT * FROM outbox WHERE seq = ? AND state = 0');
    for (const id of idsIn(reader)) this.add(id);
  }

  get count(): number {
    return this.#ids.size;
  }

  /** @param id of a message, a reply, or a part of one */
  add(id: string): void {
    this.#ids.add(id.slice(0, wholeIdLength));
  }

  /** The letter was deleted, or is back; to say so twice changes nothing. */
  remove(id: string): void {
    this.#ids.delete(id.slice(0, wholeIdLength));
  }

  async replay(id: string): Promise<DeadLetterMove> {
    const found = this.#find(id);
    if (found === null) return 'not_found';
    let rows = 0;
    const back = (): void => void rows++;
    const written = await (found.kind === 'message'
      ? this.#rerun(found.seq, back)
      : this.#resend(found.seqs, back));
    if (!written) return 'storage_failed';
    // The sweep may have taken it meanwhile.
    if (rows === 0) return 'not_found';
    this.remove(id);
    return 'done';
  }

  async discard(id: string): Promise<DeadLetterMove> {
    const found = this.#find(id);
    if (found === null) return 'not_found';
    const { journal } = this.#parts;
    if (found.kind === 'message') {
      journal.add(['messageDeleted', found.seq]);
      journal.add(['traceDeleted', id]);
      journal.add(['numbered', found.seq, id]);
    } else {
      for (const seq of found.seqs) {
        journal.add(['replyDeleted', seq]);
        journal.add(['numbered', seq, id]);
      }
    }
    if (!(await journal.written(() => {}))) return 'storage_failed';
    this.remove(id);
    return 'done';
  }

  #find(id: string): Found | null {
    if (id.length !== wholeIdLength) return null;
    const message = this.#message.get(id);
    if (message !== undefined) return { kind: 'message', seq: Number(message['seq']) };
    // A part has `-` and its number behind the id, and `.` comes after `-`.
    const seqs = this.#replies.all(id, `${id}.`).map((row) => Number(row['seq']));
    return seqs.length === 0 ? null : { kind: 'reply', seqs };
  }

  /** The turn that the message's burial left in the history is deleted in the same commit. */
  #rerun(seq: number, back: () => void): Promise<boolean> {
    const { journal, rows, now } = this.#parts;
    const fresh = rows.nextSeq();
    journal.add(['turnOfDeadDeleted', seq]);
    journal.add(['messageReplayed', fresh, now(), seq]);
    return journal.written(() => {
      const record = this.#inbox.get(fresh);
      if (record === undefined) return;
      const message = messageOf(record as unknown as InboxRecord);
      rows.outdate(message.channel, message.conversation);
      this.#historyCache.drop(message);
      rows.addMessage(message, fresh);
      back();
    });
  }

  #resend(seqs: readonly number[], back: () => void): Promise<boolean> {
    const { journal, rows } = this.#parts;
    const fresh = seqs.map((seq) => {
      const next = rows.nextSeq();
      journal.add(['replyReplayed', next, seq]);
      return next;
    });
    return journal.written(() => {
      let progress = null;
      for (const seq of fresh) {
        const record = this.#outbox.get(seq) as unknown as OutboxRecord | undefined;
        if (record === undefined) continue;
        const row = rows.restoreReply(replyOf(record), progress, seq, {
          attempt: record.attempts + 1,
          replayedAfter: record.replayed,
          possibleDuplicate: record.possible_duplicate === 1,
          late: true,
          parked: false,
          dueAt: null,
        });
        progress = row.progress;
        back();
      }
    });
  }
}

/** All in one text, which takes a tenth of the time of a row for each. */
function idsIn(db: DatabaseSync): readonly string[] {
  const ids =
    'SELECT id FROM inbox WHERE state = 2 UNION ALL SELECT id FROM outbox WHERE state = 2';
  const found = db.prepare(`SELECT group_concat(id, ' ') AS ids FROM (${ids})`).get()?.['ids'];
  return typeof found === 'string' ? found.split(' ') : [];
}
