/**
 * Deletes the messages of one conversation or one sender, and the answers to them. Memory is
 * cleared at once. The tables follow in small batches, so that other writes go between them.
 *
 * All writes from before the request are committed when this begins, so a search finds every row.
 * Ids show which messages are older than the request; newer ones stay. An instance may read a
 * message again before it is deleted. So all instances clear their memory a second time, and the
 * rows that such turns wrote are deleted too. PostgreSQL reclaims the disk space later (vacuum).
 */
import { forgottenPerson, personOn } from '../../../domain/approval.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import type { NotesOf } from '../../../domain/note.ts';
import type { Forgotten } from '../../engine/storage.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import { daysOf } from '../../engine/spending.ts';
import { fromText, toText } from '../server/text.ts';
import type { Query, Rows } from '../write/statement.ts';
import type { Single } from '../write/writes.ts';
import { deleteApprovals, forgetDecider } from './approvals.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { History } from './history.ts';
import { lastIdMark } from './marks.ts';
import type { Invalidations } from './invalidations.ts';
import { deleteAttachmentsOf, deleteOf, given, rowsOf } from './sweep.ts';
import { deleteSpend } from './reservations.ts';

/** The most rows that one commit deletes. */
const batchMax = 200;

const inConversation = 'channel = $1 AND conversation = $2';
const bySender = 'channel = $1 AND sender = $2';
const waitingOf = (which: string): string =>
  `SELECT id, conversation FROM svc.inbox WHERE ${which} AND id < $3`;
const settled = `SELECT id, conversation FROM svc.message WHERE ${inConversation} AND id < $3`;
/** Messages have no index by sender, so this reads all of them, one window after `$4` at a time. */
const settledInWindow = `
WITH seen AS (
  SELECT id, conversation, channel, sender FROM svc.message WHERE id > $4 AND id < $3
  ORDER BY id LIMIT 20000
)
SELECT id, conversation FROM seen WHERE ${bySender}
UNION ALL SELECT max(id), NULL FROM seen`;
const repliesTo =
  `${rowsOf('outbox', 'id, message_id, true AS unsettled', given)} ` +
  `UNION ALL ${rowsOf('sent', 'id, message_id, false', given)}`;
const repliesIn =
  `SELECT id FROM svc.outbox WHERE ${inConversation} AND message_id < $3 ` +
  `UNION ALL SELECT id FROM svc.sent WHERE ${inConversation} AND message_id < $3`;
const theirTurns = `${bySender} AND message_id < $3`;
const conversationsOf = `SELECT DISTINCT conversation FROM svc.turn WHERE ${theirTurns}`;

/** At most `$4` turns. */
const someTurns = (which: string): string =>
  `SELECT conversation, session, n FROM svc.turn WHERE ${which} AND message_id < $3 LIMIT $4`;
const deleteTurns = `
DELETE FROM svc.turn AS turn
USING json_to_recordset($2) AS x(conversation text COLLATE "C", session integer, n bigint)
WHERE turn.channel = $1 AND turn.conversation = x.conversation AND turn.session = x.session
  AND turn.n = x.n`;
const quoted = `${inConversation} AND sender IS NULL AND reply IS NULL`;

const deleteNotes = `DELETE FROM svc.note WHERE ${inConversation} AND message_id < $3`;
/** True if the conversation has no rows any more. */
const nothingLeft =
  `${inConversation} AND NOT EXISTS (SELECT 1 FROM svc.turn WHERE ${inConversation}) ` +
  `AND NOT EXISTS (SELECT 1 FROM svc.inbox WHERE ${inConversation}) ` +
  `AND NOT EXISTS (SELECT 1 FROM svc.outbox WHERE ${inConversation})`;

type Deps = {
  readonly reads: Reads;
  readonly batches: PostgresBatches;
  readonly rows: WorkingSet;
  readonly history: History;
  readonly deadLetters: DeadLetters;
  readonly invalidations: Invalidations;
};

/** The rows found so far. */
type Found = {
  readonly conversations: Set<ConversationId>;
  /** Messages that are not settled. */
  readonly waiting: string[];
  /** Messages with a reply that is not settled. */
  readonly answered: Set<string>;
};

export class Forgetting {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Forgets one conversation or sender. Callers run it one at a time, after all earlier writes are
   * committed.
   * @returns how many messages, replies and turns it deleted
   * @throws when the storage has failed, so that nobody believes that the texts are gone
   */
  async forget(asked: Forgotten): Promise<number> {
    const { invalidations } = this.#deps;
    const { whose, beforeId } = asked;
    const found: Found = { conversations: new Set(), waiting: [], answered: new Set() };
    const { conversations, waiting, answered } = found;
    await invalidations.forget({ whose, beforeId });
    await this.#write([lastIdMark(beforeId)]);
    let deleted = await this.#messages(asked, found);
    deleted += await this.#turnsOf(asked, conversations);
    await Promise.all([
      invalidations.forget({ whose, beforeId }, answered),
      invalidations.changed(whose.channel, [...conversations]),
    ]);
    for (const batch of batchesOf(waiting)) deleted += await this.#batch(asked, batch, found);
    await this.#approvals(asked);
    for (const conversation of conversations) await this.#endConversation(asked, conversation);
    return deleted;
  }

  /**
   * Deletes notes. Notes made after the call stay.
   * @returns how many it deleted
   * @throws as `forget` does
   */
  async clearNotes(of: NotesOf): Promise<number> {
    const asked: Query =
      of.kind === 'brain'
        ? {
            text: 'DELETE FROM svc.note WHERE brain = $1 RETURNING seq',
            values: [toText(of.brain)],
          }
        : {
            text: `DELETE FROM svc.note WHERE brain IS NULL AND ${inConversation} RETURNING seq`,
            values: [of.channel, toText(of.conversation)],
          };
    // In the batch right after the earlier writes, and there before the notes of later turns.
    let clearing: Promise<readonly Rows[]> = Promise.resolve([]);
    await this.#write([], () => void (clearing = this.#write([asked])));
    const [gone = []] = await clearing;
    return gone.length;
  }

  /** Deletes the messages and their replies. */
  async #messages(asked: Forgotten, found: Found): Promise<number> {
    const { whose, beforeId } = asked;
    const ofConversation = whose.kind === 'conversation';
    const name = toText(ofConversation ? whose.conversation : whose.sender);
    const theirs = [whose.channel, name, beforeId];
    const which = ofConversation ? inConversation : bySender;
    const rows = await this.#ask(waitingOf(which), ...theirs);
    for (const { id } of rows) found.waiting.push(String(id));
    let deleted = await this.#deleteFound(asked, rows, found);
    if (ofConversation) {
      return deleted + (await this.#deleteFound(asked, await this.#ask(settled, ...theirs), found));
    }
    for (let last: unknown = ''; last !== null;) {
      const seen = await this.#ask(settledInWindow, ...theirs, last);
      deleted += await this.#deleteFound(asked, seen.slice(0, -1), found);
      last = seen.at(-1)!['id'];
    }
    return deleted;
  }

  async #deleteFound(asked: Forgotten, rows: Rows, found: Found): Promise<number> {
    let deleted = rows.length;
    for (const { conversation } of rows) {
      found.conversations.add(fromText(String(conversation)) as ConversationId);
    }
    const ids = rows.map(({ id }) => String(id));
    for (const batch of batchesOf(ids)) deleted += await this.#batch(asked, batch, found);
    return deleted;
  }

  /** Finds replies by their message: after a restart a reply in memory does not know the sender. */
  async #batch({ remove }: Forgotten, ids: readonly string[], found: Found): Promise<number> {
    const replies = await this.#ask(repliesTo, ids);
    const unsettled = replies.filter((reply) => reply['unsettled'] === true);
    const answered = new Set(unsettled.map((reply) => String(reply['message_id'])));
    for (const id of answered) found.answered.add(id);
    if (answered.size > 0) {
      remove((row) => row.box === 'out' && answered.has(row.head.inReplyTo));
      await this.#write([]);
    }
    const deleted = await this.#replies(replies);
    await this.#write(
      [
        deleteOf('tool_use', given),
        deleteOf('tool_call', given),
        'DELETE FROM svc.inbox WHERE id = ANY($1)',
        'DELETE FROM svc.message WHERE id = ANY($1)',
        // After the messages: from then on no instance can store more attachments of them.
        deleteAttachmentsOf(given),
      ].map((text) => ({ text, values: [ids] })),
    );
    for (const id of ids) this.#deps.deadLetters.remove(id);
    return deleted;
  }

  /** Deletes the requests of theirs, and their name in decisions about other requests. */
  async #approvals({ whose, beforeId }: Forgotten): Promise<void> {
    const isTalk = whose.kind === 'conversation';
    const name = toText(isTalk ? whose.conversation : whose.sender);
    const text = deleteApprovals(isTalk ? inConversation : bySender);
    await this.#write([{ text, values: [whose.channel, name, beforeId] }]);
    if (isTalk) return;
    const person = toText(personOn(whose.channel, whose.sender));
    await this.#write([{ text: forgetDecider, values: [forgottenPerson, person] }]);
  }

  async #replies(found: Rows): Promise<number> {
    for (const ids of batchesOf(found.map(({ id }) => String(id)))) {
      await this.#write(
        ['outbox', 'sent'].map((table) => {
          return { text: `DELETE FROM svc.${table} WHERE id = ANY($1)`, values: [ids] };
        }),
      );
      for (const id of ids) this.#deps.deadLetters.remove(id);
    }
    return found.length;
  }

  /** Deletes the remaining turns, and quoted blocks that may contain them. */
  async #turnsOf({ whose, beforeId }: Forgotten, conversations: Set<ConversationId>) {
    const { channel } = whose;
    if (whose.kind === 'conversation') {
      conversations.add(whose.conversation);
      const place = [channel, toText(whose.conversation), beforeId];
      const replies = await this.#replies(await this.#ask(repliesIn, ...place));
      return replies + (await this.#turns(inConversation, place));
    }
    const theirs = [channel, toText(whose.sender), beforeId];
    for (const { conversation } of await this.#ask(conversationsOf, ...theirs)) {
      conversations.add(fromText(String(conversation)) as ConversationId);
    }
    const days = (await this.#ask(daysOf('svc.spend'))).map(({ day }) => day);
    await this.#write([{ text: deleteSpend, values: [...theirs.slice(0, 2), days] }]);
    let deleted = await this.#turns(bySender, theirs);
    for (const conversation of conversations) {
      deleted += await this.#turns(quoted, [channel, toText(conversation), beforeId]);
    }
    return deleted;
  }

  /** Finds turns before it deletes them: the answer of a deleting batch may be lost. */
  async #turns(which: string, place: readonly unknown[]): Promise<number> {
    for (let deleted = 0; ;) {
      const found = await this.#ask(someTurns(which), ...place, batchMax);
      if (found.length === 0) return deleted;
      await this.#write([{ text: deleteTurns, values: [place[0], JSON.stringify(found)] }]);
      deleted += found.length;
    }
  }

  /** Clears the memory of a conversation, and deletes its queue if no rows are left in it. */
  async #endConversation(
    { whose: { channel }, beforeId }: Forgotten,
    conversation: ConversationId,
  ) {
    const { rows, history } = this.#deps;
    const place = [channel, toText(conversation)];
    // The lock on the queue comes first, so a message accepted meanwhile is seen.
    const queues = [{ channel, conversation: toText(conversation) }];
    await this.#write(
      [
        // Notes made there may quote the deleted messages.
        { text: deleteNotes, values: [...place, beforeId], queues },
        { text: `DELETE FROM svc.cut WHERE ${nothingLeft}`, values: place },
        { text: `DELETE FROM svc.lane WHERE ${nothingLeft}`, values: place },
      ],
      () => {
        rows.outdate(channel, conversation);
        history.drop({ channel, conversation });
      },
    );
  }

  #ask(text: string, ...values: readonly unknown[]): Promise<Rows> {
    return this.#deps.reads.ask({ text, values });
  }

  /** @returns the rows of each statement; none when the answer was lost. @throws on failure */
  async #write(
    all: readonly (Query & Pick<Single, 'queues'>)[],
    then: () => void = () => {},
  ): Promise<readonly Rows[]> {
    const { batches } = this.#deps;
    const answers: Rows[] = all.map(() => []);
    for (const [at, asked] of all.entries()) {
      const told = (rows: Rows): void => void (answers[at] = rows);
      batches.add({ kind: 'single', ...asked, told });
    }
    if (!(await batches.written(then))) throw new Error('the storage has failed');
    return answers;
  }
}

function batchesOf(ids: readonly string[]): readonly (readonly string[])[] {
  const batches: (readonly string[])[] = [];
  for (let from = 0; from < ids.length; from += batchMax) {
    batches.push(ids.slice(from, from + batchMax));
  }
  return batches;
}
