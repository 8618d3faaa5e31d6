/** Dead letters: their count, and the two requests of a person, replay and discard. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { wholeIdLength, LetterCount } from '../../engine/queue.ts';
import type { DeadLetterMove } from '../../ledger.ts';
import type { SqliteDeps } from './deps.ts';
import type { HistoryCache } from './history-cache.ts';
import { unsettledMessages, unsettledReplies } from './recovery.ts';

/** A dead letter's rows: a message, or the parts of a reply in their order. */
type Found =
  | { readonly kind: 'message'; readonly seq: number }
  | { readonly kind: 'reply'; readonly parts: readonly Part[] };

type Part = { readonly seq: number; readonly id: string };

export class DeadLetters {
  readonly #deps: SqliteDeps;
  readonly #historyCache: HistoryCache;
  readonly #message: StatementSync;
  readonly #replies: StatementSync;
  readonly #letters = new LetterCount();

  constructor(deps: SqliteDeps, historyCache: HistoryCache) {
    this.#deps = deps;
    this.#historyCache = historyCache;
    const { reader } = deps;
    this.#message = reader.prepare('SELECT seq FROM inbox WHERE id = ? AND state = 2');
    this.#replies = reader.prepare(
      'SELECT seq, id FROM outbox WHERE state = 2 AND id >= ? AND id < ? ORDER BY id',
    );
    for (const id of idsIn(reader)) this.add(id);
  }

  get count(): number {
    return this.#letters.count;
  }

  /** @param id of a message, a reply, or a part of one */
  add(id: string): void {
    this.#letters.add(id);
  }

  remove(id: string): void {
    this.#letters.remove(id);
  }

  async replay(id: string): Promise<DeadLetterMove> {
    const found = this.#find(id);
    if (found === null) return 'not_found';
    let rows = 0;
    const countRow = (): void => void rows++;
    const written = await (found.kind === 'message'
      ? this.#rerun(found.seq, countRow)
      : this.#resend(found.parts, countRow));
    if (!written) return 'storage_failed';
    // The sweep may have deleted it meanwhile.
    if (rows === 0) return 'not_found';
    this.#removeAll(id, found);
    return 'done';
  }

  async discard(id: string): Promise<DeadLetterMove> {
    const found = this.#find(id);
    if (found === null) return 'not_found';
    const { groupCommit } = this.#deps;
    if (found.kind === 'message') {
      groupCommit.add(['messageDeleted', found.seq]);
      groupCommit.add(['traceDeleted', id]);
      groupCommit.add(['numbered', found.seq, id]);
    } else {
      for (const { seq } of found.parts) {
        groupCommit.add(['replyDeleted', seq]);
        groupCommit.add(['numbered', seq, id]);
      }
    }
    if (!(await groupCommit.written(() => {}))) return 'storage_failed';
    this.#removeAll(id, found);
    return 'done';
  }

  #removeAll(id: string, found: Found): void {
    const rows = found.kind === 'reply' ? found.parts : [{ id }];
    for (const row of rows) this.remove(row.id);
  }

  #find(id: string): Found | null {
    if (id.length !== wholeIdLength) return null;
    const message = this.#message.get(id);
    if (message !== undefined) return { kind: 'message', seq: Number(message['seq']) };
    // A part's id is the reply's id, `-` and a number. `.` sorts right after `-`.
    const parts = this.#replies.all(id, `${id}.`) as unknown as readonly Part[];
    return parts.length === 0 ? null : { kind: 'reply', parts };
  }

  /**
   * Puts a dead message back into its queue. The same commit deletes the turn that the
   * dead-lettering left in the history.
   */
  #rerun(seq: number, countRow: () => void): Promise<boolean> {
    const { groupCommit, reader, rows, now } = this.#deps;
    const fresh = rows.nextSeq();
    groupCommit.add(['turnOfDeadDeleted', seq]);
    groupCommit.add(['messageReplayed', fresh, now(), seq]);
    return groupCommit.written(() => {
      for (const { stored } of unsettledMessages(reader, fresh)) {
        rows.outdate(stored.channel, stored.conversation);
        this.#historyCache.drop(stored);
        rows.restoreMessage(stored);
        countRow();
      }
    });
  }

  #resend(parts: readonly Part[], countRow: () => void): Promise<boolean> {
    const { groupCommit, reader, rows } = this.#deps;
    const fresh = parts.map(({ seq }) => {
      const next = rows.nextSeq();
      groupCommit.add(['replyReplayed', next, seq]);
      return next;
    });
    return groupCommit.written(() => {
      let progress = null;
      for (const { stored, state } of fresh.flatMap((seq) => [...unsettledReplies(reader, seq)])) {
        ({ progress } = rows.restoreReply(stored, progress, state));
        countRow();
      }
    });
  }
}

/** Reads all ids as one text, which takes a tenth of the time of a row for each. */
function idsIn(db: DatabaseSync): readonly string[] {
  const ids =
    'SELECT id FROM inbox WHERE state = 2 UNION ALL SELECT id FROM outbox WHERE state = 2';
  const found = db.prepare(`SELECT group_concat(id, ' ') AS ids FROM (${ids})`).get()?.['ids'];
  return typeof found === 'string' ? found.split(' ') : [];
}
