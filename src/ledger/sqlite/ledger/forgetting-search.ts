/**
 * Finds what is to be deleted, on the connection that only reads. Inbox, outbox and turns are not
 * ordered by who wrote them, so they are looked through a window at a time, and others have their
 * turn between two windows.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { NotesOf } from '../../../domain/note.ts';
import type { Whose } from '../../../domain/story.ts';

/** At most so many numbers, or turns, are looked through at once: a few milliseconds. */
const window = 500;

/** `state` as in the schema. */
export type FoundRow = { readonly seq: number; readonly id: string; readonly state: number };
type FoundMessage = FoundRow & { readonly conversation: string };
type Turn = { readonly conversation: string; readonly session: number; readonly seq: number };

export type Search = {
  /** Messages numbered below `before`, some at a time. */
  messages(whose: Whose, before: number): AsyncIterable<readonly FoundMessage[]>;
  /** Replies in a conversation. */
  replies(whose: Whose, before: number): AsyncIterable<readonly FoundRow[]>;
  repliesTo(messageId: string): readonly FoundRow[];
  turnsSaidBy(channel: ChannelKey, sender: string, before: number): AsyncIterable<readonly Turn[]>;
  /** Ids of approvals, of messages with ids before that one. */
  approvals(whose: Whose, beforeId: string): readonly string[];
  /** How many notes there are of that scope. */
  notesOf(of: NotesOf, before: number): number;
  /** Some turns of a conversation: channel, conversation, before, how many. */
  readonly turns: StatementSync;
  /** The same, only quoted blocks. */
  readonly quoted: StatementSync;
};

export function prepareSearch(db: DatabaseSync): Search {
  const inConversation = 'channel = ? AND conversation = ?';
  const ofConversation = `${inConversation} AND seq < ?`;
  const bySender = "channel = ? AND body -> '$.sender.id' = ?";
  const answers = db.prepare('SELECT seq, id, state FROM outbox WHERE message_id = ?');
  const some = `SELECT session, seq FROM turns WHERE ${ofConversation}`;
  const notes = 'SELECT count(*) AS count FROM notes WHERE';
  const notesOfBrain = db.prepare(`${notes} brain = ? AND seq < ?`);
  const notesHere = db.prepare(`${notes} brain IS NULL AND ${ofConversation}`);
  const asked = (which: string): StatementSync =>
    db.prepare(`SELECT id FROM approvals WHERE channel = ? AND ${which} = ? AND message_id < ?`);
  const [askedIn, askedBy] = [asked('conversation'), asked('sender')];
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
  // An index would lead to all rows of a channel, again for each window.
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
