/**
 * Takeovers: conversations that an operator answers, whichever instance works them. Every instance
 * knows all takeovers. It reads the earlier ones at its start, and a notice announces each new one.
 *
 * The instance that gets the operator's answer writes it. The row of the inbox decides: if the turn
 * of a model took the row first, the answer writes nothing, and vice versa. The owner of the queue
 * sees a new number and reads the queue again.
 */
import type { HistoryBounds } from '../../../domain/conversation.ts';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import type { TakenOverConversation, TakeoverTimes } from '../../../domain/takeover.ts';
import { messageFrom } from '../../engine/bodies.ts';
import { memoryAfter } from '../../engine/memories.ts';
import type { StorageReport, StoredTakeovers, TurnEnd } from '../../engine/storage.ts';
import { aloneMax } from '../../engine/crash-isolation.ts';
import {
  ChannelRows,
  ConversationQueue,
  InRow,
  MessageProgress,
  type WholeInRow,
} from '../../engine/queue.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { Peers } from '../../../cluster/backend.ts';
import type { Queues } from '../queues/queues.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import { fromText, toText } from '../server/text.ts';
import { turnWrite } from '../write/row-codec.ts';
import type { Rows } from '../write/statement.ts';
import type { TurnWrite } from '../write/turns.ts';
import type { History } from './history.ts';

const takeoverKind = 'held';
const answerKind = 'answered_by_hand';

const activeTakeovers =
  'SELECT channel, conversation, since, until_at FROM svc.hold WHERE until_at > $1 ORDER BY since';
const storeTakeover =
  'INSERT INTO svc.hold (channel, conversation, since, until_at) VALUES ($1, $2, $3, $4) ' +
  'ON CONFLICT (channel, conversation) DO UPDATE SET until_at = excluded.until_at';
const deleteTakeover = 'DELETE FROM svc.hold WHERE channel = $1 AND conversation = $2';
const deleteExpired = 'DELETE FROM svc.hold WHERE until_at <= $1';
const waitingMessages =
  'SELECT id, accepted_at, private, attempts, alone, body FROM svc.inbox ' +
  'WHERE channel = $1 AND conversation = $2 ORDER BY n LIMIT $3';
/** Increments the number of the queue: its owner reads it, and an instance takes a free one. */
const growQueue = `INSERT INTO svc.lane AS lane (channel, conversation, tail, waits)
  VALUES ($1, $2, 1, 2) ON CONFLICT (channel, conversation) DO UPDATE SET tail = lane.tail + 1,
    waits = CASE WHEN lane.owner IS NULL THEN greatest(lane.waits, 2) ELSE lane.waits END
  RETURNING tail`;
const queueTail = 'SELECT tail FROM svc.lane WHERE channel = $1 AND conversation = $2';

export type TakeoverDeps = {
  readonly peers: Peers;
  readonly rows: WorkingSet;
  readonly batches: PostgresBatches;
  readonly reads: Reads;
  readonly history: History;
  readonly queues: Queues;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

export class Takeovers implements StoredTakeovers {
  readonly #deps: TakeoverDeps;
  #found: readonly TakenOverConversation[] = [];
  #report: Pick<StorageReport, 'heldHere' | 'answeredHere'> | null = null;
  /** Notices that came before `listen`. */
  #early: TakeoverNotice[] = [];

  private constructor(deps: TakeoverDeps) {
    this.#deps = deps;
    deps.peers.onBroadcast(takeoverKind, async (body) => {
      const notice = takeoverIn(body);
      if (notice === null) return;
      if (this.#report === null) this.#early.push(notice);
      else await this.#report.heldHere(notice, notice.hold);
    });
    deps.peers.onBroadcast(answerKind, (body) => {
      const notice = answerIn(body);
      if (notice !== null) this.#answeredHere(notice);
    });
  }

  /** Reads the takeovers, and takes these conversations out of this instance's order of work. */
  static async open(deps: TakeoverDeps): Promise<Takeovers> {
    const takeovers = new Takeovers(deps);
    const { reads, rows, now } = deps;
    takeovers.#found = (await reads.ask({ text: activeTakeovers, values: [now()] })).map(
      heldConversation,
    );
    for (const { channel, conversation } of takeovers.#found) rows.takeOver(channel, conversation);
    return takeovers;
  }

  get found(): readonly TakenOverConversation[] {
    return this.#found;
  }

  listen(report: Pick<StorageReport, 'heldHere' | 'answeredHere'>): void {
    this.#report = report;
    for (const notice of this.#early.splice(0)) void report.heldHere(notice, notice.hold);
  }

  keep(where: ConversationKey, hold: TakeoverTimes | null): Promise<boolean> {
    const { batches, peers } = this.#deps;
    const place = [where.channel, toText(where.conversation)];
    const written =
      hold === null
        ? { text: deleteTakeover, values: place }
        : { text: storeTakeover, values: [...place, hold.since, hold.untilAt] };
    batches.add({ kind: 'single', ...written });
    const { channel, conversation } = where;
    const notice: TakeoverNotice = { channel, conversation, hold };
    return new Promise((resolve) => {
      // A refused write may still be committed; then `written` runs and announces it.
      batches.flush(
        (landed) => {
          if (landed === null) return resolve(false);
          void peers.broadcast(takeoverKind, JSON.stringify(notice)).finally(() => resolve(true));
        },
        () => resolve(false),
      );
    });
  }

  expired(now: number): void {
    const { batches } = this.#deps;
    batches.add({ kind: 'single', text: deleteExpired, values: [Math.floor(now)] });
    batches.flushSoon(() => {});
  }

  async waiting(where: ConversationKey, n: number): Promise<readonly WholeInRow[]> {
    const { reads, history } = this.#deps;
    // Another instance may have changed the conversation since this one read it.
    history.drop(where);
    const values = [where.channel, toText(where.conversation), n];
    const queue = new ConversationQueue(new ChannelRows(where.channel), where.conversation);
    const found = await reads.ask({ text: waitingMessages, values });
    return found.map((row) => waitingRow(queue, row));
  }

  answered(ends: readonly TurnEnd[]): Promise<'answered' | 'answered_already' | 'storage_failed'> {
    const { batches, peers, queues } = this.#deps;
    const { channel, conversation } = ends[0]!.row.queue;
    const queue = { channel, conversation: toText(conversation) };
    const values = [queue.channel, queue.conversation];
    let tail = 0;
    const told = (rows: Rows): void => void (tail = Number(rows[0]?.['tail'] ?? 0));
    const again = { text: queueTail, values };
    batches.add({ kind: 'single', text: growQueue, values, again, queues: [queue], told });
    for (const write of turnWrites(ends, this.#deps.history.bounds)) batches.add(write);
    const messages = ends.map(({ row }) => row.head.id);
    return new Promise((resolve) => {
      batches.flush(
        (landed) => {
          if (landed === null) return resolve('storage_failed');
          const isDone = landed.done.has(messages.at(-1)!);
          const answered: AnswerNotice = { channel, conversation, messages, tail };
          void peers.broadcast(answerKind, JSON.stringify(answered)).finally(() => {
            resolve(isDone ? 'answered' : 'answered_already');
            void queues.takeWaiting();
          });
        },
        () => resolve('storage_failed'),
      );
    });
  }

  #answeredHere({ channel, conversation, messages, tail }: AnswerNotice): void {
    const { rows, history, queues } = this.#deps;
    const where = { channel, conversation };
    this.#report?.answeredHere(where, new Set(messages));
    rows.outdate(channel, conversation);
    history.drop(where);
    const queue = queues.owned.get(where);
    if (queue !== undefined && !queue.isLeaving) queues.owned.read(queue, 'all', tail);
  }
}

/** Only the last turn writes the row of the conversation. */
function turnWrites(ends: readonly TurnEnd[], bounds: HistoryBounds): readonly TurnWrite[] {
  const writes = ends.map((one) => {
    const memory = memoryAfter(one.row.message, one.memory, one.effects, bounds);
    return turnWrite(one, memory, true);
  });
  const last = writes.findLast(({ queue }) => queue !== null);
  return writes.map((write) => (write === last ? write : { ...write, queue: null }));
}

function heldConversation({ channel, conversation, since, until_at: untilAt }: Rows[number]) {
  return {
    channel: String(channel) as ChannelKey,
    conversation: fromText(String(conversation)) as ConversationId,
    since: Number(since),
    untilAt: Number(untilAt),
  };
}

function waitingRow(queue: ConversationQueue, found: Rows[number]): WholeInRow {
  const { id, accepted_at: acceptedAt, private: label, attempts, alone, body } = found;
  const message = messageFrom({
    id: String(id),
    channel: queue.channel,
    conversation: queue.conversation,
    acceptedAt: Number(acceptedAt),
    sensitivity: label === true ? 'private' : 'public',
    body: String(body),
  });
  const made = new InRow(message, message, queue, new MessageProgress(0, null), 0);
  const row = Object.assign(made, { message });
  row.attempt = Number(attempts) + 1;
  row.poison = Number(alone) >= aloneMax;
  return row;
}

// Notices between instances. They come from the database, perhaps from another release. A notice
// that cannot be parsed is ignored.

/** A takeover began or changed. `hold` null: it ended. */
type TakeoverNotice = ConversationKey & { readonly hold: TakeoverTimes | null };

/** The operator answered these messages. `tail`: the newest number of the queue. */
type AnswerNotice = ConversationKey & {
  readonly messages: readonly string[];
  readonly tail: number;
};

type Fields = Readonly<Record<string, unknown>>;

function takeoverIn(body: string): TakeoverNotice | null {
  const fields = fieldsIn(body);
  const where = whereIn(fields);
  const { hold } = fields;
  if (where === null) return null;
  if (hold === null) return { ...where, hold };
  if (typeof hold !== 'object') return null;
  const { since, untilAt } = hold as Fields;
  const areTimes = typeof since === 'number' && typeof untilAt === 'number';
  return areTimes ? { ...where, hold: { since, untilAt } } : null;
}

function answerIn(body: string): AnswerNotice | null {
  const fields = fieldsIn(body);
  const where = whereIn(fields);
  const { messages, tail } = fields;
  if (where === null || !Array.isArray(messages) || typeof tail !== 'number') return null;
  return { ...where, messages: messages.filter((id) => typeof id === 'string'), tail };
}

function whereIn({ channel, conversation }: Fields): ConversationKey | null {
  if (typeof channel !== 'string' || typeof conversation !== 'string') return null;
  return { channel: channel as ChannelKey, conversation: conversation as ConversationId };
}

/** @returns no fields when the body is no JSON object */
function fieldsIn(body: string): Fields {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : {};
  } catch {
    return {};
  }
}
