/**
 * The rows of the ledger and their order: the queue of each conversation, the rows of each channel,
 * and which messages of a queue are merged.
 */
import type { Box } from '../../domain/event.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import {
  apartMs,
  mediaOf,
  type Message,
  type Gather,
  type PlatformTime,
} from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { leadingCommand, routeCommandOf } from '../../domain/routing.ts';
import { strictest } from '../../domain/sensitivity.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { Deadline } from '../../lib/deadlines.ts';
import { Linked, LinkedSet, Queue } from '../../lib/queue.ts';

/** One empty list for all messages that are merged with no other. */
export const noneMerged: readonly WholeInRow[] = [];

/** The queue of one conversation on one channel: its unsettled rows in order. */
export class ConversationQueue {
  readonly channel: ChannelKey;
  readonly rows: ChannelRows;
  readonly conversation: ConversationId;
  readonly inbox = new Queue<InRow>();
  /** Without parked replies: they have left the order. */
  readonly outbox = new Queue<OutRow>();
  /** The first message is offered, waits to merge, is claimed or suspected. No other may start. */
  inBusy = false;
  outBusy = false;
  /** The parked replies; null: there never were any. */
  parked: Set<OutRow> | null = null;
  /** The queue has no rows. */
  idle = true;
  /** An operator has taken the conversation over: none of its messages is offered. */
  isTakenOver = false;
  /** Set while the first message waits for messages to merge with. */
  mergeWait: Deadline | null = null;
  /** Counts changes of the conversation's memory that its own turns did not make. */
  historyVersion = 0;

  constructor(rows: ChannelRows, conversation: ConversationId) {
    this.channel = rows.channel;
    this.rows = rows;
    this.conversation = conversation;
  }

  /** How many replies are unsettled, parked ones included. */
  get replies(): number {
    return this.outbox.length + (this.parked?.size ?? 0);
  }

  get empty(): boolean {
    return this.inbox.length === 0 && this.replies === 0 && !this.inBusy && !this.outBusy;
  }

  /** Whether nothing happens in the queue until a new row arrives or a parked reply is due. */
  get isQuiet(): boolean {
    if (this.inbox.length > 0 || this.outbox.length > 0 || this.inBusy || this.outBusy)
      return false;
    for (const { due } of this.parked ?? []) if (due === null) return false;
    return true;
  }

  /** Parks a reply: no other reply waits for it. The caller takes it out of `outbox`. */
  park(row: OutRow): void {
    row.late = true;
    row.parked = true;
    (this.parked ??= new Set()).add(row);
  }

  hasReply(id: string): boolean {
    for (let at = 0; at < this.outbox.length; at++) {
      if (this.outbox.at(at)!.head.id === id) return true;
    }
    for (const { head } of this.parked ?? []) if (head.id === id) return true;
    return false;
  }

  /**
   * Takes out all rows that match; parked replies stay in `parked`. The next row may start, unless
   * the first row is claimed or its end is being written.
   */
  extract(matches: (row: Row) => boolean): readonly Row[] {
    const message = this.inbox.peek();
    const reply = this.outbox.peek();
    const rows: Row[] = [...this.inbox.extract(matches), ...this.outbox.extract(matches)];
    for (const row of this.parked ?? []) if (matches(row)) rows.push(row);
    if (message !== this.inbox.peek() && message?.taken === false) this.inBusy = false;
    if (reply !== this.outbox.peek() && reply?.taken === false) this.outBusy = false;
    return rows;
  }
}

/** The rows of one channel, by box. */
export class ChannelRows {
  readonly channel: ChannelKey;
  readonly conversations = new Map<ConversationId, ConversationQueue>();
  /** The rows that can be taken now. */
  readonly ready: Readonly<Record<Box, Queue<Row>>> = { in: new Queue(), out: new Queue() };
  /** All unsettled rows, in the order in which they were added. */
  readonly unsettled: Readonly<Record<Box, LinkedSet<Row>>> = {
    in: new LinkedSet(),
    out: new LinkedSet(),
  };
  /** Whether the listeners are about to hear of ready rows. */
  readonly isRinging: Record<Box, boolean> = { in: false, out: false };

  constructor(channel: ChannelKey) {
    this.channel = channel;
  }

  /** When the oldest unsettled row was accepted or made (milliseconds since 1970); null: none. */
  oldestAt(box: Box): number | null {
    const row = this.unsettled[box].first;
    if (row === null) return null;
    return row.box === 'in' ? row.head.acceptedAt : row.head.createdAt;
  }
}

/** At most this many queues without rows are kept: most conversations come back soon. */
const idleMax = 4_096;

/** Finds and makes conversation queues, and keeps idle ones for a while. */
export class Queues {
  readonly #channels = new Map<ChannelKey, ChannelRows>();
  #queues = 0;
  #idle = 0;

  /** How many queues have rows. */
  get busy(): number {
    return this.#queues - this.#idle;
  }

  get channels(): Iterable<ChannelRows> {
    return this.#channels.values();
  }

  channel(channel: ChannelKey): ChannelRows | undefined {
    return this.#channels.get(channel);
  }

  /** The queue of a conversation that is about to get a row. */
  of(channel: ChannelKey, conversation: ConversationId): ConversationQueue {
    let rows = this.#channels.get(channel);
    if (rows === undefined) this.#channels.set(channel, (rows = new ChannelRows(channel)));
    let queue = rows.conversations.get(conversation);
    if (queue === undefined) {
      queue = new ConversationQueue(rows, conversation);
      rows.conversations.set(conversation, queue);
      this.#queues++;
    } else if (queue.idle) {
      this.#idle--;
    }
    queue.idle = false;
    return queue;
  }

  /** The queues of a channel, or the queue of one conversation; empty where there are none. */
  on(channel: ChannelKey, conversation: ConversationId | null): readonly ConversationQueue[] {
    const conversations = this.#channels.get(channel)?.conversations;
    if (conversation === null) return [...(conversations?.values() ?? [])];
    const queue = conversations?.get(conversation);
    return queue === undefined ? [] : [queue];
  }

  /** Call when a queue may have become empty. */
  updateIdle(queue: ConversationQueue): void {
    if (queue.idle || !queue.empty) return;
    queue.idle = true;
    if (++this.#idle > idleMax) this.#forgetIdle();
  }

  *[Symbol.iterator](): Generator<ConversationQueue> {
    for (const { conversations } of this.#channels.values()) yield* conversations.values();
  }

  /** The queue of a taken-over conversation stays: it alone knows of the takeover. */
  #forgetIdle(): void {
    for (const queue of this) {
      if (!queue.idle || queue.isTakenOver) continue;
      queue.rows.conversations.delete(queue.conversation);
      this.#queues--;
      this.#idle--;
    }
  }
}

/** The progress of a message and its replies, from acceptance until the last of them is settled. */
export class MessageProgress {
  /** How many rows are not settled: the message and its replies. */
  open = 1;
  readonly bytes: number;
  /** The place of the message's story in the ring of the memory backend. */
  story = 0;
  /** Who sent the message; null: not known, as for replies after a restart. */
  readonly sender: string | null;
  #promise: Promise<void> | null = null;
  #resolve: (() => void) | null = null;

  constructor(bytes: number, sender: string | null) {
    this.bytes = bytes;
    this.sender = sender;
  }

  /** The progress of a message that never enters the working set. */
  static ended(): MessageProgress {
    const progress = new MessageProgress(0, null);
    progress.open = 0;
    return progress;
  }

  /** Resolves when the message and its replies are settled. The promise is made at first use. */
  get settled(): Promise<void> {
    if (this.open === 0) return Promise.resolve();
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#promise;
  }

  close(): void {
    this.#resolve?.();
  }
}

/** The fields of a message or a reply that order and totals need besides the queue. */
type MessageHead = Pick<Message, 'id' | 'acceptedAt'>;
type ReplyHead = Pick<Reply, 'id' | 'inReplyTo' | 'createdAt'>;

/** A row as the storage keeps it. Its text stays there until the row is handed out. */
export type Stored<Head> = {
  readonly head: Head;
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly seq: number;
  readonly bytes: number;
};
export type StoredMessage = Stored<MessageHead> & { readonly sender: string };
export type StoredReply = Stored<ReplyHead>;

/** An unsettled message. Its links join those of a channel in the order of acceptance. */
export class InRow extends Linked {
  readonly box = 'in';
  readonly seq: number;
  readonly queue: ConversationQueue;
  readonly head: MessageHead;
  /** Null: the storage has it, and reads it when the row is handed out. */
  message: Message | null;
  readonly progress: MessageProgress;
  /** The number of the next or current attempt; counts from 1. */
  attempt = 1;
  /**
   * The messages directly behind it that were handed out with it as one message. They end with it.
   */
  merged: readonly WholeInRow[] = noneMerged;
  /** The `historyVersion` of its queue when it was last handed out. */
  historyVersion = 0;
  /**
   * True from the moment it is handed out until it is given back, postponed, or its end is written.
   */
  taken = false;
  /** Removed: it counts nowhere any more. */
  gone = false;
  /**
   * The process ended twice while it ran alone: it becomes a dead letter, and does not run again.
   */
  poison = false;

  constructor(
    head: MessageHead,
    message: Message | null,
    queue: ConversationQueue,
    progress: MessageProgress,
    seq: number,
  ) {
    super();
    this.head = head;
    this.message = message;
    this.queue = queue;
    this.progress = progress;
    this.seq = seq;
  }
}

/** An unsettled reply. */
export class OutRow extends Linked {
  readonly box = 'out';
  readonly seq: number;
  readonly queue: ConversationQueue;
  readonly head: ReplyHead;
  /** Null: the storage has it, as for a message. */
  reply: Reply | null;
  readonly bytes: number;
  readonly progress: MessageProgress;
  attempt = 1;
  /**
   * Attempts that do not move the reply along its schedule:
   * - those before the last replay
   * - those counted only because the process died
   * - those that an operator asked for
   */
  replayedAfter = 0;
  possibleDuplicate = false;
  /** The reply may arrive after replies that were made later. */
  late = false;
  /** Late, and no longer in its queue: no other reply waits for it. */
  parked = false;
  /** When it was last handed out, in milliseconds since 1970. */
  takenAt = 0;
  taken = false;
  gone = false;
  /** Set while it waits for its next attempt. */
  due: Deadline | null = null;
  /** When it is due, in milliseconds since 1970. It has no meaning while `due` is null. */
  dueAt = 0;
  /** Why its last attempt failed; null: none failed, or the reason is not known. */
  why: Pick<Failure, 'kind' | 'status'> | null = null;

  constructor(
    { head, seq, bytes }: StoredReply,
    reply: Reply | null,
    queue: ConversationQueue,
    progress: MessageProgress,
  ) {
    super();
    this.head = head;
    this.reply = reply;
    this.bytes = bytes;
    this.queue = queue;
    this.progress = progress;
    this.seq = seq;
  }
}

/** The state of a reply as it was last written. */
export type OutState = Pick<
  OutRow,
  'attempt' | 'replayedAfter' | 'possibleDuplicate' | 'late' | 'parked' | 'why'
> & {
  /** When its next attempt is due; null: it waits for its turn. */
  readonly dueAt: number | null;
};

export type Row = InRow | OutRow;

/** Rows whose text is in memory. Every claimed row is one. */
export type WholeInRow = InRow & { readonly message: Message };
export type WholeOutRow = OutRow & { readonly reply: Reply };
export type WholeRow = WholeInRow | WholeOutRow;

export function isWhole(row: Row): row is WholeRow {
  return (row.box === 'in' ? row.message : row.reply) !== null;
}

/** The id of a part of a split reply is the id of the whole reply plus `-00`, `-01` and so on. */
export const wholeIdLength = 22;

/** The parts of a split reply that wait behind this one. They become dead letters with it. */
export function laterParts({ head, queue, parked }: OutRow): readonly OutRow[] {
  if (parked || head.id.length === wholeIdLength) return [];
  const parts: OutRow[] = [];
  const whole = head.id.slice(0, wholeIdLength);
  for (let place = 1; ; place++) {
    const part = queue.outbox.at(place);
    if (part === undefined || !part.head.id.startsWith(whole)) return parts;
    parts.push(part);
  }
}

/**
 * Counts dead letters. The parts of one reply are one dead letter, although they may die and be
 * deleted at different times. It keeps ids and not a number, because the sweep reports its
 * deletions late. By then a letter may have left the count, or may never have been in it.
 */
export class LetterCount {
  /** The id of each message or whole reply, with the id endings of its dead rows. */
  readonly #ends = new Map<string, readonly string[]>();

  get count(): number {
    return this.#ends.size;
  }

  /** @param id of a message, a reply, or a part of a reply */
  add(id: string): void {
    const whole = id.slice(0, wholeIdLength);
    const end = id.slice(wholeIdLength);
    const ends = this.#ends.get(whole) ?? [];
    if (!ends.includes(end)) this.#ends.set(whole, [...ends, end]);
  }

  /**
   * Call when the row was deleted or replayed. A second call for the same id changes nothing.
   * @param id as for `add`; the other parts of a reply stay
   */
  remove(id: string): void {
    const whole = id.slice(0, wholeIdLength);
    const ends = this.#ends.get(whole) ?? [];
    const remaining = ends.filter((end) => whole + end !== id);
    if (remaining.length === 0) this.#ends.delete(whole);
    else this.#ends.set(whole, remaining);
  }
}

/**
 * How many bytes a row counts: two for each character, and a fixed overhead. The overhead includes
 * the route, whose few values are entries of the configuration.
 */
export function bytesOf(characters: number): number {
  return 512 + 2 * characters;
}

export function bytesOfMessage(
  message: Omit<Message, 'id' | 'acceptedAt' | 'sensitivity'>,
): number {
  const { text, conversation, sender, media, context, address } = message;
  const characters =
    text.length +
    2 * conversation.length +
    sender.id.length +
    (sender.name?.length ?? 0) +
    (media?.reference.length ?? 0) +
    (media?.type?.length ?? 0) +
    (context?.quoted?.text.length ?? 0) +
    address.target.length;
  return bytesOf(characters);
}

/** @param sender null: not known */
export function isOf(
  whose: MessageOwner,
  { channel, conversation }: Pick<Message, 'channel' | 'conversation'>,
  sender: string | null,
): boolean {
  if (channel !== whose.channel) return false;
  return whose.kind === 'conversation'
    ? conversation === whose.conversation
    : sender === whose.sender;
}

/** A message is suspected if it was the next of its conversation at so many crashes. */
export const attemptsMax = 2;

/**
 * Whether this message may have ended the process. Such a message runs alone and is never merged,
 * so that it can be found.
 */
export function isSuspect({ attempt, poison }: InRow): boolean {
  return poison || attempt > attemptsMax;
}

/** At most this many messages are merged, the first included. */
const mergedMax = 10;
/** The longest time from the first merged message to the last. */
const mergeMsMax = 10_000;
/**
 * The longest merged text. The message that would exceed it is a turn of its own. A single message
 * may be longer.
 */
const charactersMax = 16_000;

/** The messages behind this one that are merged with it, as far as their text is in memory. */
export function mergeableBehind(head: InRow): readonly WholeInRow[] {
  if (!isWholeIn(head) || head.message.gather === undefined || isSuspect(head)) return noneMerged;
  const { message } = head;
  const merged: WholeInRow[] = [];
  let characters = message.text.length;
  let before = head;
  for (const row of candidates(head)) {
    if (!isWholeIn(row) || !belongsWith(message, row.message) || !isCloseInTime(head, before, row))
      break;
    characters += 1 + row.message.text.length;
    if (characters > charactersMax) break;
    merged.push(row);
    before = row;
  }
  return merged.length === 0 ? noneMerged : merged;
}

/** The messages that may be merged with this one, but whose text has to be read first. */
export function unreadBehind(head: InRow): readonly InRow[] {
  const { message } = head;
  if (message?.gather === undefined || isSuspect(head)) return noneMerged;
  return [...candidates(head)].filter(({ message: text }) => text === null);
}

/**
 * The merged message. It has the id of the first, the first quotation among them, and the strictest
 * label. The message with a route's command gives the route, and its text comes first: only at the
 * beginning it is a command. The reply to an album points at its first message, and the reply to a
 * burst at the last. All are from one sender and of one origin, so no words are attributed to
 * another person.
 */
export function mergedMessage({ message: first, merged }: WholeInRow): Message {
  if (merged.length === 0) return first;
  const all = [first, ...merged.map(({ message }) => message)];
  const { gather, context: _, further: __, ...whole } = first;
  const lead = leadOf(all);
  const ordered = lead === null ? all : [lead, ...all.filter((one) => one !== lead)];
  const texts = ordered.map(({ text }) => text).filter((text) => text !== '');
  const route = (lead ?? all.find((one) => one.route !== undefined))?.route;
  const [media = null, ...further] = all.flatMap(mediaOf);
  const context = all.find((one) => one.context?.quoted !== undefined)?.context ?? first.context;
  return {
    ...whole,
    text: texts.join('\n'),
    media,
    sensitivity: strictest(...all.map(({ sensitivity }) => sensitivity)),
    ...(route !== undefined && { route }),
    ...(further.length > 0 && { further }),
    ...(context !== undefined && { context }),
    address: gather?.kind === 'burst' ? all.at(-1)!.address : first.address,
  };
}

/**
 * The message whose route has a command, and which has the command itself if one of them has it.
 * The parts of a message may have been given the route of a message before them. Null: none.
 */
function leadOf(all: readonly Message[]): Message | null {
  const routed = all.filter(({ route }) => routeCommandOf(route) !== null);
  const lead = routed.find(beginsWithCommand) ?? routed.find(({ text }) => text !== '');
  return lead ?? routed[0] ?? null;
}

/** Behind a trigger of a session it is a command of svc, which is never merged. */
function beginsWithCommand({ route, text }: Pick<Message, 'route' | 'text'>): boolean {
  const command = routeCommandOf(route);
  return command !== null && leadingCommand(text, [])?.command === command;
}

/**
 * How many milliseconds to wait for more; 0: no wait. Setting the clock back does not
 * lengthen the wait.
 */
export function mergeWaitMs(head: InRow, now: number): number {
  const gather = head.message?.gather;
  if (gather === undefined || isSuspect(head)) return 0;
  const merged = mergeableBehind(head);
  const isOver = head.queue.inbox.length > 1 + merged.length || merged.length + 1 >= mergedMax;
  if (isOver) return 0;
  const last = merged.at(-1) ?? head;
  const overAt = Math.min(last.head.acceptedAt + gather.ms, head.head.acceptedAt + mergeMsMax);
  return Math.min(overAt - now, gather.ms);
}

/** The rows behind it of the same sender, whom even a row without text names. */
function* candidates(head: InRow): Generator<InRow> {
  const { inbox } = head.queue;
  for (let at = 1; at < mergedMax; at++) {
    const row = inbox.at(at);
    if (row === undefined || isSuspect(row) || row.taken) return;
    if (row.progress.sender !== head.progress.sender) return;
    yield row;
  }
}

/** Messages of an album belong together whatever time lies between them. */
function isCloseInTime(first: WholeInRow, before: WholeInRow, row: WholeInRow): boolean {
  const { gather } = first.message;
  if (gather?.kind !== 'burst') return true;
  return distanceMs(before, row) <= gather.ms && distanceMs(first, row) <= mergeMsMax;
}

/**
 * The time between two messages. It goes by the platform's clock if both have its time: after an
 * outage, svc receives old messages all at once.
 */
function distanceMs(one: WholeInRow, other: WholeInRow): number {
  const [before, after] = [saidAtOf(one.message), saidAtOf(other.message)];
  if (before !== undefined && after !== undefined) return apartMs(before, after);
  return other.head.acceptedAt - one.head.acceptedAt;
}

function saidAtOf({ gather }: Message): PlatformTime | undefined {
  return gather?.kind === 'burst' ? gather.saidAt : undefined;
}

function belongsWith(first: Message, next: Message): boolean {
  if (first.gather === undefined || next.gather === undefined) return false;
  return (
    next.sender.id === first.sender.id &&
    next.context?.forwardedFrom === first.context?.forwardedFrom &&
    mergeKeyOf(next.gather) === mergeKeyOf(first.gather) &&
    (next.gather.kind === 'album' || isForSameBrain(first, next))
  );
}

/**
 * An album is one message, even if its parts came apart and took different routes. Of a burst only
 * messages of one route and one label are merged. A route's command begins another message.
 */
function isForSameBrain(first: Message, next: Message): boolean {
  return (
    next.sensitivity === first.sensitivity &&
    next.route?.brain === first.route?.brain &&
    next.route?.number === first.route?.number &&
    !beginsWithCommand(next)
  );
}

function mergeKeyOf(gather: Gather): string {
  return gather.kind === 'album' ? `album ${gather.key}` : gather.kind;
}

export function isWholeIn(row: InRow): row is WholeInRow {
  return row.message !== null;
}
