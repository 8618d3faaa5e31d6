/** The rows of the working set, and the queue that puts the rows of a conversation in order. */
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { Reply } from '../../domain/reply.ts';
import type { Deadline } from '../../lib/deadlines.ts';
import { Queue, type Linked } from '../../lib/queue.ts';

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
