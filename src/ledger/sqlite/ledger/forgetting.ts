/**
 * Forgets one conversation or one sender: deletes their messages and turns, and the replies to
 * them. Memory loses these at once. The disk loses them in batches, so that groups of other writes
 * go in between.
 *
 * Writes that were under way at the request reach the disk first, so a search then finds
 * everything. A sequence number separates older rows from those that come after the request, which
 * stay.
 */
import { forgottenPerson, personOn } from '../../../domain/approval.ts';
import type { StatementSync, DatabaseSync } from 'node:sqlite';
import type { ConversationId, ChannelKey } from '../../../domain/ids.ts';
import type { NotesOf } from '../../../domain/note.ts';
import type { Forgotten } from '../../engine/storage.ts';
import { wholeIdLength } from '../../engine/queue.ts';
import { NotOverwritten } from '../../ledger.ts';
import { notesCleared } from '../write/turn-writes.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { SqliteDeps } from './deps.ts';
import type { HistoryCache } from './history-cache.ts';
import type { Write } from '../write/statements.ts';
import type { MessageOwner } from '../../../domain/story.ts';

/** The most rows that one commit deletes. */
const batchMax = 200;
const checkpointAgainMs = 50;

export class Forgetting {
  readonly #deps: SqliteDeps;
  readonly #historyCache: HistoryCache;
  readonly #deadLetters: DeadLetters;
  readonly #search: Search;

  constructor(deps: SqliteDeps, historyCache: HistoryCache, deadLetters: DeadLetters) {
    this.#deps = deps;
    this.#historyCache = historyCache;
    this.#deadLetters = deadLetters;
    this.#search = prepareSearch(deps.reader);
  }

  /**
   * Forgets a conversation or a sender. Call it one at a time, after all earlier writes are on the
   * disk.
   * @returns how many messages, replies and turns it deleted
   * @throws when the storage has failed, so that nobody believes that the texts are gone
   */
  async forget(request: Forgotten): Promise<number> {
    const { whose } = request;
    const touched = new Set<ConversationId>();
    let deleted = await this.#messages(request, touched);
    if (whose.kind === 'conversation') {
      touched.add(whose.conversation);
      deleted += await this.#replies(request);
      deleted += await this.#turnsOf(request, whose.conversation, this.#search.turns);
    } else {
      deleted += await this.#turnsSaidBy(request, whose.sender, touched);
    }
    await this.#approvals(request);
    for (const conversation of touched) await this.#dropConversation(request, conversation);
    await this.#overwrite();
    return deleted;
  }

  /**
   * Deletes notes. Notes made after the call stay. Without a note it still overwrites: an earlier
   * call may have thrown `NotOverwritten`.
   * @returns how many notes it deleted
   * @throws when the storage has failed; NotOverwritten, as `forget` does
   */
  async clearNotes(of: NotesOf): Promise<number> {
    const before = this.#deps.rows.nextSeq();
    await this.#write([]);
    const count = this.#search.notesOf(of, before);
    if (count > 0) await this.#write([notesCleared(of, before)]);
    await this.#overwrite();
    return count;
  }

  /**
   * Resolves when the disk holds no byte of the deleted rows.
   * @throws NotOverwritten if another program reads from the log all the time
   */
  async #overwrite(): Promise<void> {
    const { groupCommit, limits } = this.#deps;
    let triesLeft = Math.ceil(limits.readersMs / checkpointAgainMs);
    for (let whole = await groupCommit.checkpoint('vacuum'); !whole;) {
      if (triesLeft-- <= 0) throw new NotOverwritten();
      await new Promise((resolve) => setTimeout(resolve, checkpointAgainMs));
      whole = await groupCommit.checkpoint('log');
    }
  }

  /** Deletes their messages, the replies to these, and their traces. */
  async #messages(request: Forgotten, touched: Set<ConversationId>): Promise<number> {
    let deleted = 0;
    for await (const messages of this.#search.messages(request.whose, request.before)) {
      await this.#dropAnswers(request, messages);
      for (const { conversation } of messages) touched.add(conversation as ConversationId);
      const replies = messages.flatMap(({ id }) => this.#search.repliesTo(id));
      deleted += await this.#rows('replyDeleted', replies);
      deleted += await this.#rows('messageDeleted', messages);
    }
    return deleted;
  }

  /**
   * Removes unsettled replies to these messages from the working set. After a restart a reply does
   * not know its sender, so the message leads to it.
   */
  async #dropAnswers({ remove }: Forgotten, messages: readonly FoundRow[]): Promise<void> {
    const unsettled = ({ id }: FoundRow): boolean =>
      this.#search.repliesTo(id).some(({ state }) => state === 0);
    const answered = new Set(messages.filter(unsettled).map(({ id }) => id));
    if (answered.size === 0) return;
    remove((row) => row.box === 'out' && answered.has(row.head.inReplyTo));
    await this.#write([]);
  }

  /** Deletes replies of a conversation whose messages are already gone. */
  async #replies({ whose, before }: Forgotten): Promise<number> {
    let deleted = 0;
    for await (const replies of this.#search.replies(whose, before)) {
      deleted += await this.#rows('replyDeleted', replies);
    }
    return deleted;
  }

  async #rows(
    deletion: 'messageDeleted' | 'replyDeleted',
    found: readonly FoundRow[],
  ): Promise<number> {
    for (let from = 0; from < found.length; from += batchMax) {
      const batch = found.slice(from, from + batchMax);
      const writes = batch.flatMap(({ seq, id }): Write[] => {
        const deletes: Write[] = [
          [deletion, seq],
          ['numbered', seq, id.slice(0, wholeIdLength)],
        ];
        if (deletion === 'messageDeleted') deletes.push(['traceDeleted', id]);
        return deletes;
      });
      await this.#write(writes);
      for (const { id, state } of batch) if (state === 2) this.#deadLetters.remove(id);
    }
    return found.length;
  }

  /**
   * Deletes their approvals: the call's arguments are their text. Also replaces their name where
   * they decided approvals of others.
   */
  async #approvals({ whose, beforeId }: Forgotten): Promise<void> {
    const found = this.#search.approvals(whose, beforeId);
    for (let from = 0; from < found.length; from += batchMax) {
      const batch = found.slice(from, from + batchMax);
      await this.#write(batch.map((id): Write => ['approvalDeleted', id]));
    }
    if (whose.kind === 'conversation') return;
    const person = personOn(whose.channel, whose.sender);
    await this.#write([['deciderForgotten', forgottenPerson, person]]);
  }

  async #turnsSaidBy(
    request: Forgotten,
    sender: string,
    touched: Set<ConversationId>,
  ): Promise<number> {
    const { channel } = request.whose;
    let deleted = 0;
    for await (const turns of this.#search.turnsSaidBy(channel, sender, request.before)) {
      for (const { conversation } of turns) touched.add(conversation as ConversationId);
      await this.#write(
        turns.map(({ conversation, session, seq }): Write => {
          return ['turnDeleted', channel, conversation, session, seq];
        }),
      );
      deleted += turns.length;
    }
    await this.#write([['spendForgotten', channel, sender]]);
    // The quoted block may contain this sender's words.
    for (const conversation of touched) {
      deleted += await this.#turnsOf(request, conversation, this.#search.quoted);
    }
    return deleted;
  }

  async #turnsOf(
    { whose: { channel }, before }: Forgotten,
    conversation: ConversationId,
    some: StatementSync,
  ): Promise<number> {
    let deleted = 0;
    for (;;) {
      const turns = some.all(channel, conversation, before, batchMax);
      if (turns.length === 0) return deleted;
      await this.#write(
        turns.map(({ session, seq }): Write => {
          return ['turnDeleted', channel, conversation, Number(session), Number(seq)];
        }),
      );
      deleted += turns.length;
    }
  }

  /** Drops the conversation's memory, and its row if nothing is left in it. */
  async #dropConversation({ whose: { channel }, before }: Forgotten, conversation: ConversationId) {
    const { groupCommit, rows } = this.#deps;
    const place = [channel, conversation] as const;
    // Notes made in the conversation may contain this sender's words.
    groupCommit.add(['notesForgotten', ...place, before]);
    groupCommit.add(['cutsDeleted', ...place]);
    groupCommit.add(['conversationDeleted', ...place]);
    const written = await groupCommit.written(() => {
      rows.outdate(channel, conversation);
      this.#historyCache.drop({ channel, conversation });
    });
    if (!written) throw new Error('the storage has failed');
  }

  async #write(writes: readonly Write[]): Promise<void> {
    const { groupCommit } = this.#deps;
    for (const write of writes) groupCommit.add(write);
    if (!(await groupCommit.written(() => {}))) throw new Error('the storage has failed');
  }
}

// The search for rows to delete, on the read-only connection. Inbox, outbox and turns have no index
// by sender. So the search reads one window of rows at a time, and other work goes between two
// windows.

/** The most sequence numbers, or turns, read in one step, which takes a few milliseconds. */
const window = 500;

/** `state` as in the schema. */
type FoundRow = { readonly seq: number; readonly id: string; readonly state: number };
type FoundMessage = FoundRow & { readonly conversation: string };
type Turn = { readonly conversation: string; readonly session: number; readonly seq: number };

type Search = {
  /** Messages with a `seq` below `before`, in batches. */
  messages(whose: MessageOwner, before: number): AsyncIterable<readonly FoundMessage[]>;
  /** Replies in a conversation, in batches. */
  replies(whose: MessageOwner, before: number): AsyncIterable<readonly FoundRow[]>;
  repliesTo(messageId: string): readonly FoundRow[];
  turnsSaidBy(channel: ChannelKey, sender: string, before: number): AsyncIterable<readonly Turn[]>;
  /** Ids of approvals that belong to messages with ids below `beforeId`. */
  approvals(whose: MessageOwner, beforeId: string): readonly string[];
  /** How many notes the scope has, numbered below `before`. */
  notesOf(of: NotesOf, before: number): number;
  /** Some turns of a conversation. Parameters: channel, conversation, before, limit. */
  readonly turns: StatementSync;
  /** The same, for quoted blocks only. */
  readonly quoted: StatementSync;
};

function prepareSearch(db: DatabaseSync): Search {
  const inConversation = 'channel = ? AND conversation = ?';
  const ofConversation = `${inConversation} AND seq < ?`;
  const bySender = "channel = ? AND body -> '$.sender.id' = ?";
  const answers = db.prepare('SELECT seq, id, state FROM outbox WHERE message_id = ?');
  const some = `SELECT session, seq FROM turns WHERE ${ofConversation}`;
  const notes = 'SELECT count(*) AS count FROM notes WHERE';
  const notesOfBrain = db.prepare(`${notes} brain = ? AND seq < ?`);
  const notesHere = db.prepare(`${notes} brain IS NULL AND ${ofConversation}`);
  const approvalsBy = (which: string): StatementSync =>
    db.prepare(`SELECT id FROM approvals WHERE channel = ? AND ${which} = ? AND message_id < ?`);
  const askedIn = approvalsBy('conversation');
  const askedBy = approvalsBy('sender');
  return {
    messages(whose, before) {
      const what = 'seq, id, state, conversation';
      if (whose.kind === 'conversation') {
        const values = [whose.channel, whose.conversation];
        return windows(db, 'inbox', what, inConversation, values, before);
      }
      const values = [whose.channel, JSON.stringify(whose.sender)];
      return windows(db, 'inbox', what, bySender, values, before);
    },
    replies(whose, before) {
      if (whose.kind === 'sender') throw new Error('a reply does not know its sender');
      const values = [whose.channel, whose.conversation];
      return windows(db, 'outbox', 'seq, id, state', inConversation, values, before);
    },
    repliesTo: (messageId) => answers.all(messageId) as unknown as FoundRow[],
    turnsSaidBy(channel, sender, before) {
      const theirs = 'channel = ? AND sender = ? AND seq < ?';
      const values = [channel, sender, before];
      return windows(db, 'turns', 'conversation, session, seq', theirs, values, Infinity);
    },
    approvals(whose, beforeId) {
      const isTalk = whose.kind === 'conversation';
      const name = isTalk ? whose.conversation : whose.sender;
      const theirs = isTalk ? askedIn : askedBy;
      return theirs.all(whose.channel, name, beforeId).map(({ id }) => String(id));
    },
    notesOf(of, before) {
      const found =
        of.kind === 'brain'
          ? notesOfBrain.get(of.brain, before)
          : notesHere.get(of.channel, of.conversation, before);
      return Number(found?.['count']);
    },
    turns: db.prepare(`${some} LIMIT ?`),
    quoted: db.prepare(`${some} AND sender IS NULL AND reply IS NULL LIMIT ?`),
  };
}

async function* windows<T>(
  db: DatabaseSync,
  table: 'inbox' | 'outbox' | 'turns',
  what: string,
  which: string,
  values: readonly (string | number)[],
  before: number,
): AsyncGenerator<readonly T[]> {
  const number = table === 'turns' ? 'place' : 'seq';
  const inWindow = `${number} >= ? AND ${number} < ?`;
  const next = db.prepare(`SELECT min(${number}) AS number FROM ${table} WHERE ${inWindow}`);
  // An index would visit all rows of a channel, again for each window.
  const some = db.prepare(
    `SELECT ${what} FROM ${table} NOT INDEXED WHERE ${inWindow} AND ${which}`,
  );
  let from = 0;
  for (;;) {
    const first = next.get(from, before)?.['number'];
    if (typeof first !== 'number') return;
    from = first + window;
    const found = some.all(first, Math.min(from, before), ...values);
    if (found.length > 0) yield found as unknown as readonly T[];
    await new Promise(setImmediate);
  }
}
