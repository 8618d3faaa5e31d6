/**
 * The memories of conversations, read over the connection for reads. `read` loads the memory of a
 * turn before the ledger hands its row out, and holds it until `of` takes it.
 */
import type { EarlierTurns, HistoryBounds, TurnRow } from '../../../domain/conversation.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import type { Awaitable } from '../../engine/storage.ts';
import { keyOf, Memories, memoryOf, type ConversationRecord } from '../../engine/memories.ts';
import { Cursors } from '../../engine/cursors.ts';
import { unroutableCursor } from '../../engine/schedule.ts';
import type { Memory } from '../../ledger.ts';
import type { Reads } from '../deps.ts';
import { fromText, fromTextOrNull, toText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';

type TurnFields = {
  readonly at: string;
  readonly text: string;
  readonly reply: string | null;
  readonly private: boolean;
  readonly left_out: number;
  readonly sender: string | null;
};

/** One row for each turn, newest first. A conversation without turns has one row. */
type WindowFields = TurnFields & {
  readonly place: number;
  readonly session: number | null;
  readonly started_at: string | null;
  readonly previous_at: string | null;
  readonly windows: string | null;
  readonly first_at: string | null;
};

const ofQueue = 'turn.channel = x.channel AND turn.conversation = x.conversation';
const ofActive = `${ofQueue} AND turn.session = coalesce(lane.session, 1)`;

const windows = `
SELECT x.place, lane.session, lane.started_at, lane.previous_at, lane.windows,
  first.at AS first_at, said.at, said.text, said.reply, said.private, said.left_out, said.sender
FROM json_to_recordset($1) AS x(place integer, channel text COLLATE "C",
  conversation text COLLATE "C")
LEFT JOIN LATERAL (
  SELECT session, started_at, previous_at, windows FROM svc.lane
  WHERE channel = x.channel AND conversation = x.conversation OFFSET 0
) AS lane ON true
LEFT JOIN LATERAL (
  SELECT at FROM svc.turn AS turn WHERE ${ofActive} ORDER BY n LIMIT 1
) AS first ON true
LEFT JOIN LATERAL (
  SELECT n, at, text, reply, private, left_out, sender FROM svc.turn AS turn
  WHERE ${ofActive} AND left_out < 2 ORDER BY n DESC LIMIT $2
) AS said ON true
ORDER BY x.place, said.n DESC`;

/** Turns that later turns may see, without quoted blocks. */
const theirs =
  'channel = $1 AND conversation = $2 AND left_out < 2 ' +
  'AND (sender IS NOT NULL OR reply IS NOT NULL)';
const newestSaid =
  `SELECT at, text, reply, private, left_out, sender FROM svc.turn WHERE ${theirs} AND session = ` +
  `(SELECT session FROM svc.turn WHERE ${theirs} ORDER BY session DESC LIMIT 1) ` +
  'ORDER BY n DESC LIMIT $3';

/** Also turns that are left out of prompts. */
const earlierSaid =
  'SELECT at, text, reply, private, left_out, sender FROM svc.turn ' +
  'WHERE channel = $1 AND conversation = $2 AND at <= $3 ' +
  'AND (sender IS NOT NULL OR reply IS NOT NULL) ORDER BY session DESC, n DESC LIMIT $4';

const brainOfTurn =
  'SELECT message.brain FROM svc.turn AS turn ' +
  'JOIN svc.message AS message ON message.id = turn.message_id ' +
  'WHERE turn.channel = $1 AND turn.conversation = $2 AND turn.at = $3 ' +
  'AND turn.sender IS NOT NULL AND turn.reply IS NULL ' +
  'ORDER BY turn.session DESC, turn.n DESC LIMIT 1';

const cursorValue = 'SELECT value FROM svc.cursor WHERE channel = $1 AND name = $2';
const cursorsNamed = 'SELECT channel, value FROM svc.cursor WHERE name = $1';

export class History {
  readonly #reads: Reads;
  readonly #memories = new Memories();
  /** Memories of rows that are ready, by conversation. The cache must not evict them. */
  readonly #held = new Map<string, Memory>();
  /** The epoch of each queue of this instance: how often the queue was taken. */
  readonly #epochs = new Map<string, number>();
  /** Conversations that are being read, and whether they changed during the read. */
  readonly #reading = new Map<string, { changed: boolean }>();
  readonly #unroutable: Map<string, number>;
  readonly cursors = new Cursors((channel, name) => this.#storedCursor(channel, name), true);

  private constructor(reads: Reads, unroutable: Map<string, number>) {
    this.#reads = reads;
    this.#unroutable = unroutable;
  }

  static async open(reads: Reads): Promise<History> {
    const rows = await reads.ask({ text: cursorsNamed, values: [unroutableCursor] });
    const since = rows.map(({ channel, value }) => [String(channel), Number(value)] as const);
    return new History(reads, new Map(since));
  }

  get bytes(): number {
    return this.#memories.bytes;
  }

  get bounds(): HistoryBounds {
    return this.#memories.bounds;
  }

  remember(bounds: HistoryBounds): void {
    if (this.#memories.remember(bounds)) this.dropAll();
  }

  /** Whether `of` has an answer. If so, the memory is held until `of`. */
  holds(where: ConversationKey): boolean {
    const key = keyOf(where);
    if (this.#held.has(key)) return true;
    const known = this.#memories.get(where);
    if (known === undefined) return false;
    this.#held.set(key, known);
    return true;
  }

  /** This instance took a queue. Another instance may have changed the conversation before. */
  taken(where: ConversationKey, epoch: number): void {
    this.#epochs.set(keyOf(where), epoch);
    this.#changed(where);
    this.#memories.taken(where, epoch);
  }

  /** This instance released the queue. */
  left(where: ConversationKey): void {
    this.#epochs.delete(keyOf(where));
    this.#changed(where);
  }

  /** Takes the memory of a turn. @throws when `read` or `holds` did not load it */
  of(message: Message): Memory {
    const key = keyOf(message);
    const memory = this.#held.get(key);
    if (memory === undefined) throw new Error('this history has not been read');
    this.#held.delete(key);
    return memory;
  }

  /** Loads the memories of messages. Leaves out a conversation that changes during the read. */
  async read(messages: readonly Message[]): Promise<void> {
    const mark = { changed: false };
    const keys = messages.map(keyOf);
    const marks = keys.map((key) => {
      const own = { ...mark };
      this.#reading.set(key, own);
      return own;
    });
    try {
      const asked = messages.map(({ channel, conversation }, place) => {
        return { place, channel, conversation: toText(conversation) };
      });
      const values = [JSON.stringify(asked), this.bounds.turns + 1];
      const rows = await this.#reads.ask({ text: windows, values });
      const found = Map.groupBy(rows as unknown as WindowFields[], ({ place }) => place);
      for (const [place, message] of messages.entries()) {
        if (marks[place]!.changed) continue;
        const memory = memoryFrom(message, found.get(place) ?? [], this.bounds);
        this.#put(message, memory);
        this.#held.set(keys[place]!, memory);
      }
    } finally {
      for (const [at, key] of keys.entries()) {
        if (this.#reading.get(key) === marks[at]) this.#reading.delete(key);
      }
    }
  }

  /** The message is the first of its conversation, so its memory is empty. */
  beginsWith(message: Message): void {
    this.#put(
      message,
      memoryOf(message, undefined, [], this.bounds, () => message.acceptedAt),
    );
  }

  put(where: ConversationKey, memory: Memory): void {
    this.#changed(where);
    this.#put(where, memory);
  }

  drop(where: ConversationKey): void {
    this.#changed(where);
    this.#memories.drop(where);
  }

  dropAll(): void {
    this.#held.clear();
    for (const reading of this.#reading.values()) reading.changed = true;
    this.#memories.dropAll();
  }

  async said({ channel, conversation }: Message, n: number): Promise<readonly TurnRow[]> {
    const values = [channel, toText(conversation), n];
    return turnsOf(await this.#reads.ask({ text: newestSaid, values }));
  }

  async earlier({ channel, conversation }: Message, at: number, n: number): Promise<EarlierTurns> {
    const values = [channel, toText(conversation), at, n];
    const rows = await this.#reads.ask({ text: earlierSaid, values });
    return { kind: 'kept', turns: turnsOf(rows) };
  }

  async brainOfTurn({ channel, conversation }: Message, at: number): Promise<string | null> {
    const values = [channel, toText(conversation), at];
    const [row] = await this.#reads.ask({ text: brainOfTurn, values });
    const brain = row?.['brain'];
    return typeof brain === 'string' ? fromText(brain) : null;
  }

  cursor(channel: ChannelKey, name: string): Awaitable<string | null> {
    return this.cursors.of(channel, name);
  }

  async #storedCursor(channel: ChannelKey, name: string): Promise<string | null> {
    const [row] = await this.#reads.ask({ text: cursorValue, values: [channel, name] });
    return row === undefined ? null : fromText(String(row['value']));
  }

  unroutableSince(channel: ChannelKey): number | null {
    return this.#unroutable.get(channel) || null;
  }

  keepUnroutable(channel: ChannelKey, since: number | null): void {
    this.#unroutable.set(channel, since ?? 0);
  }

  #put(where: ConversationKey, memory: Memory): void {
    this.#memories.put(where, memory, this.#epochs.get(keyOf(where)) ?? 0);
  }

  #changed(where: ConversationKey): void {
    const key = keyOf(where);
    this.#held.delete(key);
    const reading = this.#reading.get(key);
    if (reading !== undefined) reading.changed = true;
  }
}

function memoryFrom(
  message: Message,
  rows: readonly WindowFields[],
  bounds: HistoryBounds,
): Memory {
  const [first] = rows;
  const turns = rows.filter(({ at }) => at !== null);
  return memoryOf(message, recordOf(first), turnsOf(turns), bounds, () => Number(first!.first_at));
}

function recordOf(row: WindowFields | undefined): ConversationRecord | undefined {
  if (row?.session == null) return undefined;
  const { session, started_at: startedAt, previous_at: previousAt, windows: starts } = row;
  const times = { startedAt: Number(startedAt), previousAt: Number(previousAt) };
  return { session, ...times, windows: fromTextOrNull(starts) };
}

/** @returns oldest first */
function turnsOf(newestFirst: Rows): readonly TurnRow[] {
  return (newestFirst as unknown as readonly TurnFields[]).map(turnOf).reverse();
}

function turnOf({ at, text, reply, private: label, left_out, sender }: TurnFields): TurnRow {
  const row: TurnRow = {
    at: Number(at),
    text: fromText(text),
    reply: fromTextOrNull(reply),
    sensitivity: label ? 'private' : 'public',
  };
  if (sender === null && reply === null) return { ...row, quoted: true };
  return left_out === 1 ? { ...row, doubted: true } : row;
}
