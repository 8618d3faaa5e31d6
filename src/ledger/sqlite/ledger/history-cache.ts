/**
 * The history of conversations at work, in memory on the main thread, so that a turn need not read
 * the disk. For other conversations it reads the database, on a read-only connection.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EarlierTurns, HistoryBounds, TurnRow } from '../../../domain/conversation.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import {
  activeSession,
  Memories,
  memoryOf,
  type ConversationRecord,
} from '../../engine/memories.ts';
import { unroutableCursor } from '../../engine/schedule.ts';
import type { Awaitable } from '../../engine/storage.ts';
import { Cursors } from '../../engine/cursors.ts';
import type { Memory } from '../../ledger.ts';
import type { Labels } from './sensitivity-labels.ts';

/** The visible turns of a conversation, without quoted blocks, which nobody said. */
const visibleTurns =
  'channel = ?1 AND conversation = ?2 AND left_out < 2 ' +
  'AND (sender IS NOT NULL OR reply IS NOT NULL)';

/** All turns accepted by a time, also those hidden from later turns. */
const acceptedTurns =
  'channel = ?1 AND conversation = ?2 AND at <= ?3 ' +
  'AND (sender IS NOT NULL OR reply IS NOT NULL)';

const columns =
  'channel, at, text, reply, private, left_out = 1 AS doubted, ' +
  'sender IS NULL AND reply IS NULL AS quoted';

type TurnRecord = {
  readonly channel: string;
  readonly at: number;
  readonly text: string;
  readonly reply: string | null;
  readonly private: number | null;
  readonly doubted: number;
  readonly quoted: number;
};

export class HistoryCache {
  readonly #labels: Labels;
  readonly #memories = new Memories();
  readonly #conversation: StatementSync;
  readonly #turns: StatementSync;
  readonly #first: StatementSync;
  readonly #said: StatementSync;
  readonly #earlier: StatementSync;
  readonly #brain: StatementSync;
  readonly #cursor: StatementSync;
  readonly cursors = new Cursors((channel, name) => this.#storedCursor(channel, name));

  /** @param db a read-only connection */
  constructor(db: DatabaseSync, labels: Labels) {
    this.#labels = labels;
    this.#conversation = db.prepare(
      'SELECT session, started_at AS startedAt, previous_at AS previousAt, windows ' +
        'FROM conversations WHERE channel = ? AND conversation = ?',
    );
    this.#turns = db.prepare(
      `SELECT ${columns} FROM turns WHERE channel = ? AND conversation = ? AND session = ? ` +
        'AND left_out < 2 ORDER BY seq DESC LIMIT ?',
    );
    this.#first = db.prepare(
      'SELECT at FROM turns WHERE channel = ? AND conversation = ? AND session = ? ' +
        'ORDER BY seq LIMIT 1',
    );
    this.#said = db.prepare(
      `SELECT ${columns} FROM turns WHERE ${visibleTurns} AND session = ` +
        `(SELECT session FROM turns WHERE ${visibleTurns} ORDER BY session DESC LIMIT 1) ` +
        'ORDER BY seq DESC LIMIT ?3',
    );
    this.#earlier = db.prepare(
      `SELECT ${columns} FROM turns WHERE ${acceptedTurns} ` +
        'ORDER BY session DESC, seq DESC LIMIT ?4',
    );
    this.#brain = db.prepare(
      'SELECT inbox.brain FROM turns AS turn JOIN inbox ON inbox.seq = turn.seq ' +
        'WHERE turn.channel = ? AND turn.conversation = ? AND turn.at = ? ' +
        'AND turn.sender IS NOT NULL AND turn.reply IS NULL ' +
        'ORDER BY turn.session DESC, turn.seq DESC LIMIT 1',
    );
    this.#cursor = db.prepare('SELECT value FROM cursors WHERE channel = ? AND name = ?');
  }

  /** The value of a channel's cursor; null when the channel has never set it. */
  cursor(channel: ChannelKey, name: string): Awaitable<string | null> {
    return this.cursors.of(channel, name);
  }

  /** Milliseconds since 1970; null: the channel is served. */
  unroutableSince(channel: ChannelKey): number | null {
    return Number(this.#storedCursor(channel, unroutableCursor) ?? '') || null;
  }

  #storedCursor(channel: ChannelKey, name: string): string | null {
    const found = this.#cursor.get(channel, name);
    return found === undefined ? null : String(found['value']);
  }

  get bytes(): number {
    return this.#memories.bytes;
  }

  get bounds(): HistoryBounds {
    return this.#memories.bounds;
  }

  remember(bounds: HistoryBounds): void {
    this.#memories.remember(bounds);
  }

  of(message: Message): Memory {
    const known = this.#memories.get(message);
    if (known !== undefined) return known;
    const memory = this.#read(message);
    this.put(message, memory);
    return memory;
  }

  /** Drops a conversation from memory, since it has changed on the disk. */
  drop(where: ConversationKey): void {
    this.#memories.drop(where);
  }

  /** The last n turns of the newest session with any spoken turn, oldest first. */
  said({ channel, conversation }: Message, n: number): readonly TurnRow[] {
    const newestFirst = this.#said.all(channel, conversation, n) as unknown as TurnRecord[];
    return this.#rowsOf(newestFirst);
  }

  earlier({ channel, conversation }: Message, at: number, n: number): EarlierTurns {
    const newestFirst = this.#earlier.all(channel, conversation, at, n);
    return { kind: 'kept', turns: this.#rowsOf(newestFirst as unknown as TurnRecord[]) };
  }

  brainOfTurn({ channel, conversation }: Message, at: number): string | null {
    const brain = this.#brain.get(channel, conversation, at)?.['brain'];
    return typeof brain === 'string' ? brain : null;
  }

  /** Stores what the next turn will see. Call it after the commit of a turn. */
  put(message: Message, memory: Memory): void {
    this.#memories.put(message, memory);
  }

  /** @returns oldest first */
  #rowsOf(newestFirst: readonly TurnRecord[]): readonly TurnRow[] {
    const rows = newestFirst.map(
      ({ at, text, reply, private: label, channel, quoted, doubted }): TurnRow => {
        const row = { at, text, reply, sensitivity: this.#labels.of(label, channel) };
        if (quoted === 1) return { ...row, quoted: true };
        return doubted === 1 ? { ...row, doubted: true } : row;
      },
    );
    return rows.reverse();
  }

  #read(message: Message): Memory {
    const { channel, conversation } = message;
    const row = this.#conversation.get(channel, conversation) as ConversationRecord | undefined;
    const number = activeSession(row);
    const found = this.#turns.all(channel, conversation, number, this.bounds.turns + 1);
    const turns = this.#rowsOf(found as unknown as TurnRecord[]);
    const firstAt = (): number => {
      return (this.#first.get(channel, conversation, number) as { at: number }).at;
    };
    return memoryOf(message, row, turns, this.bounds, firstAt);
  }
}
