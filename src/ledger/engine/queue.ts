/** The rows of the working set, and the queue that puts the rows of a conversation in order. */
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import {
  apartMs,
  mediaOf,
  type Message,
  type Gather,
  type PlatformTime,
} from '../../domain/message.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { Reply } from '../../domain/reply.ts';
import { createDeadlines, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import { Queue, type Linked } from '../../lib/queue.ts';
import type { Clock } from '../../lib/clock.ts';

/** The queue of one conversation on one channel: its unsettled rows in order. */
export class ConversationQueue {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly inbox = new Queue<InRow>();
  /** Without parked replies: they have left the order. */
  readonly outbox = new Queue<OutRow>();
  /** The first message is offered or claimed; nothing behind it may start. */
  inBusy = false;
  outBusy = false;
  /** Unsettled replies, parked ones included. */
  replies = 0;
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

  constructor(channel: ChannelKey, conversation: ConversationId) {
    this.channel = channel;
    this.conversation = conversation;
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

  hasReply(id: string): boolean {
    for (let at = 0; at < this.outbox.length; at++) {
      if (this.outbox.at(at)!.head.id === id) return true;
    }
    for (const { head } of this.parked ?? []) if (head.id === id) return true;
    return false;
  }

  /**
   * Takes out all rows that match. The next row may start, unless the first row is claimed or its
   * end is being written.
   */
  extract(matches: (row: Row) => boolean): readonly Row[] {
    const message = this.inbox.peek();
    const reply = this.outbox.peek();
    const rows: readonly Row[] = [...this.inbox.extract(matches), ...this.outbox.extract(matches)];
    if (message !== this.inbox.peek() && message?.taken === false) this.inBusy = false;
    if (reply !== this.outbox.peek() && reply?.taken === false) this.outBusy = false;
    return rows;
  }
}

/** The progress of a message and its replies, from acceptance until the last of them is settled. */
export class MessageProgress {
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
export type MessageHead = Pick<Message, 'id' | 'acceptedAt'>;
export type ReplyHead = Pick<Reply, 'id' | 'inReplyTo' | 'createdAt'>;

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

/** `before` and `after` link the unsettled messages of a channel, in the order of acceptance. */
export type InRow = Linked & {
  readonly box: 'in';
  readonly seq: number;
  readonly queue: ConversationQueue;
  readonly head: MessageHead;
  /** Null: the storage has it, and reads it when the row is handed out. */
  message: Message | null;
  readonly progress: MessageProgress;
  /** The number of the next or current attempt; counts from 1. */
  attempt: number;
  /**
   * The messages directly behind it that were handed out with it as one message. They end with it.
   */
  merged: readonly WholeInRow[];
  /** The `historyVersion` of its queue when it was last handed out. */
  historyVersion: number;
  /**
   * True from the moment it is handed out until it is given back, postponed, or its end is written.
   */
  taken: boolean;
  /** Removed: it counts nowhere any more. */
  gone: boolean;
  /**
   * The process ended twice while it ran alone: it becomes a dead letter, and does not run again.
   */
  poison: boolean;
};

export type OutRow = Linked & {
  readonly box: 'out';
  readonly seq: number;
  readonly queue: ConversationQueue;
  readonly head: ReplyHead;
  /** Null: the storage has it, as for a message. */
  reply: Reply | null;
  readonly bytes: number;
  readonly progress: MessageProgress;
  attempt: number;
  /**
   * Attempts that do not move the reply along its schedule:
   * - those before the last replay
   * - those counted only because the process died
   * - those that an operator asked for
   */
  replayedAfter: number;
  possibleDuplicate: boolean;
  /** The reply may arrive after replies that were made later. */
  late: boolean;
  /** Late, and no longer in its queue: no other reply waits for it. */
  parked: boolean;
  /** When it was last handed out, in milliseconds since 1970. */
  takenAt: number;
  taken: boolean;
  gone: boolean;
  /** Set while it waits for its next attempt. */
  due: Deadline | null;
  /** When it is due, in milliseconds since 1970. It has no meaning while `due` is null. */
  dueAt: number;
  /** Why its last attempt failed; null: none failed, or the reason is not known. */
  why: Pick<Failure, 'kind' | 'status'> | null;
};

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

/** One empty list for all messages that are merged with no other. */
export const noneMerged: readonly WholeInRow[] = [];

export function makeInRow(
  head: MessageHead,
  message: Message | null,
  queue: ConversationQueue,
  progress: MessageProgress,
  seq: number,
): InRow {
  return {
    box: 'in',
    seq,
    queue,
    head,
    message,
    progress,
    attempt: 1,
    merged: noneMerged,
    historyVersion: 0,
    taken: false,
    gone: false,
    poison: false,
    before: null,
    after: null,
  };
}

export function makeOutRow(
  head: ReplyHead,
  reply: Reply | null,
  bytes: number,
  queue: ConversationQueue,
  progress: MessageProgress,
  seq: number,
): OutRow {
  return {
    box: 'out',
    seq,
    queue,
    head,
    reply,
    bytes,
    progress,
    attempt: 1,
    replayedAfter: 0,
    possibleDuplicate: false,
    late: false,
    parked: false,
    takenAt: 0,
    taken: false,
    gone: false,
    due: null,
    dueAt: 0,
    why: null,
    before: null,
    after: null,
  };
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

/** A message is suspected when it was the next of its conversation at this many unclean ends. */
export const attemptsMax = 2;

/**
 * Whether this message may have ended the process. Such a message runs alone and is never merged,
 * so that it can be found.
 */
export function isSuspect({ attempt, poison }: InRow): boolean {
  return poison || attempt > attemptsMax;
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

/** Whether the row is a message with a smaller id than this one, or a reply to such a message. */
export function isBefore(row: Row, beforeId: string): boolean {
  return (row.box === 'in' ? row.head.id : row.head.inReplyTo) < beforeId;
}

/** Whether the row is theirs, or a reply to a message that is known to be theirs. */
export function rowIsOf(whose: MessageOwner, row: Row): boolean {
  return isOf(whose, row.queue, row.progress.sender);
}

// Finds and makes conversation queues, and keeps idle ones for a while.

/** At most this many queues without rows are kept: most conversations come back soon. */
const idleMax = 4_096;

export class Queues {
  readonly #channels = new Map<ChannelKey, Map<ConversationId, ConversationQueue>>();
  /** Whether an operator has taken the conversation over. Asked when its queue is made. */
  isTakenOver: (channel: ChannelKey, conversation: ConversationId) => boolean = () => false;
  #queues = 0;
  #idle = 0;

  /** How many queues have rows. */
  get busy(): number {
    return this.#queues - this.#idle;
  }

  /** The queue of a conversation that is about to get a row. */
  of(channel: ChannelKey, conversation: ConversationId): ConversationQueue {
    let queues = this.#channels.get(channel);
    if (queues === undefined) this.#channels.set(channel, (queues = new Map()));
    let queue = queues.get(conversation);
    if (queue === undefined) {
      queue = new ConversationQueue(channel, conversation);
      queue.isTakenOver = this.isTakenOver(channel, conversation);
      queues.set(conversation, queue);
      this.#queues++;
    } else if (queue.idle) {
      this.#idle--;
    }
    queue.idle = false;
    return queue;
  }

  /** The queues of a channel, or the queue of one conversation; empty where there are none. */
  on(channel: ChannelKey, conversation: ConversationId | null): readonly ConversationQueue[] {
    const queues = this.#channels.get(channel);
    if (conversation === null) return [...(queues?.values() ?? [])];
    const queue = queues?.get(conversation);
    return queue === undefined ? [] : [queue];
  }

  /** Call when a queue may have become empty. */
  updateIdle(queue: ConversationQueue): void {
    if (queue.idle || !queue.empty) return;
    queue.idle = true;
    if (++this.#idle > idleMax) this.#forgetIdle();
  }

  /**
   * Ids of messages and replies in order, queue by queue. Whole queues are added until there are at
   * least `most` ids.
   */
  idsOfRows(most: number): readonly string[] {
    const ids: string[] = [];
    for (const { inbox, outbox } of this) {
      for (let i = 0; i < inbox.length; i++) ids.push(inbox.at(i)!.head.id);
      for (let i = 0; i < outbox.length; i++) ids.push(outbox.at(i)!.head.id);
      if (ids.length >= most) break;
    }
    return ids;
  }

  /** Ids of the messages that are handed out. Each is the first of its queue. */
  idsOfTaken(): readonly string[] {
    const ids: string[] = [];
    for (const { inbox } of this) {
      const first = inbox.peek();
      if (first?.taken === true) ids.push(first.head.id);
    }
    return ids;
  }

  /** Cancels every timer of the queues. */
  stopTimers(): void {
    for (const { outbox, mergeWait } of this) {
      outbox.peek()?.due?.cancel();
      mergeWait?.cancel();
    }
  }

  *[Symbol.iterator](): Generator<ConversationQueue> {
    for (const queues of this.#channels.values()) yield* queues.values();
  }

  #forgetIdle(): void {
    for (const queues of this.#channels.values()) {
      for (const [conversation, queue] of queues) if (queue.idle) queues.delete(conversation);
    }
    this.#queues -= this.#idle;
    this.#idle = 0;
  }
}

// How many bytes rows count, and the stored rows of new messages and replies.

/** How many bytes a row counts: two for each character, and a fixed overhead. */
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

/** The row of a new message. */
export function messageRow(message: Message, seq: number): StoredMessage {
  const { channel, conversation, sender } = message;
  const bytes = bytesOfMessage(message);
  return { head: message, channel, conversation, seq, bytes, sender: sender.id };
}

/** The row of a new reply. */
export function replyRow(reply: Reply, seq: number): StoredReply {
  const { address, conversation, text } = reply;
  const bytes = bytesOf(text.length + conversation.length);
  return { head: reply, channel: address.channel, conversation, seq, bytes };
}

/**
 * Counts dead letters. The parts of one reply are one dead letter, although they may die and be
 * deleted at different times. It keeps ids and not a number, because the sweep reports its
 * deletions late: a reported letter may be off the count already, or was never on it.
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

// Merges messages that belong together: the pictures of an album, and texts that a person sends in
// quick succession. Each stays a row of its own. The engine finds what belongs together when it
// hands out the first, so a restart merges the same messages again.

/** At most this many messages are merged, the first included. */
const mergedMax = 10;
/** The longest time from the first merged message to the last. */
const mergeMsMax = 10_000;
/**
 * The longest merged text. The message that would exceed it is a turn of its own. A single message
 * may be longer.
 */
const charactersMax = 16_000;

/** @property deadlines timers by `steady`; left out: new ones are made */
export type MergeClock = Clock & { readonly deadlines?: Deadlines };

/** First messages of idle queues that wait for messages to merge with. */
export class MergeWaits {
  readonly #now: () => number;
  readonly #deadlines: Deadlines;
  readonly #waitOver: (head: InRow) => void;

  /** @param over called with each message whose wait is over */
  constructor(clock: MergeClock, over: (head: InRow) => void) {
    this.#now = clock.now;
    this.#deadlines = clock.deadlines ?? createDeadlines(clock.steady);
    this.#waitOver = over;
  }

  /**
   * Starts or restarts the wait of a message, by what its queue holds now. @returns false: it need
   * not wait
   */
  start(head: InRow): boolean {
    const { queue } = head;
    this.stop(queue);
    const ms = waitMs(head, this.#now());
    if (ms <= 0) return false;
    queue.mergeWait = this.#deadlines.after(ms, () => {
      queue.mergeWait = null;
      this.#waitOver(head);
    });
    return true;
  }

  stop(queue: ConversationQueue): void {
    queue.mergeWait?.cancel();
    queue.mergeWait = null;
  }
}

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
 * The merged message. It has the id of the first, and the first quotation among them. The reply to
 * an album points at its first message, and the reply to a burst at the last. All are from one
 * sender and of one origin, so no words are attributed to another person.
 */
export function mergedMessage({ message: first, merged }: WholeInRow): Message {
  if (merged.length === 0) return first;
  const all = [first, ...merged.map(({ message }) => message)];
  const { gather, context: _, further: __, ...whole } = first;
  const texts = all.map(({ text }) => text).filter((text) => text !== '');
  const [media = null, ...further] = all.flatMap(mediaOf);
  const context = all.find((one) => one.context?.quoted !== undefined)?.context ?? first.context;
  return {
    ...whole,
    text: texts.join('\n'),
    media,
    ...(further.length > 0 && { further }),
    ...(context !== undefined && { context }),
    address: gather?.kind === 'burst' ? all.at(-1)!.address : first.address,
  };
}

/**
 * How many milliseconds to wait for more; 0: no wait. Setting the clock back makes the wait no
 * longer.
 */
function waitMs(head: InRow, now: number): number {
  const gather = head.message?.gather;
  if (gather === undefined || isSuspect(head)) return 0;
  const merged = mergeableBehind(head);
  const isOver = head.queue.inbox.length > 1 + merged.length || merged.length + 1 >= mergedMax;
  if (isOver) return 0;
  const last = merged.at(-1) ?? head;
  const overAt = Math.min(last.head.acceptedAt + gather.ms, head.head.acceptedAt + mergeMsMax);
  return Math.min(overAt - now, gather.ms);
}

/** The rows behind that are of the same sender. This is known even for rows without text. */
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

function belongsWith(first: Message, { gather, sender, sensitivity, context }: Message): boolean {
  if (first.gather === undefined || gather === undefined) return false;
  return (
    sender.id === first.sender.id &&
    sensitivity === first.sensitivity &&
    context?.forwardedFrom === first.context?.forwardedFrom &&
    mergeKeyOf(gather) === mergeKeyOf(first.gather)
  );
}

function mergeKeyOf(gather: Gather): string {
  return gather.kind === 'album' ? `album ${gather.key}` : gather.kind;
}

function isWholeIn(row: InRow): row is WholeInRow {
  return row.message !== null;
}
