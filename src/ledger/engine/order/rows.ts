/** The rows of the working set, and the lane that puts a conversation's rows in order. */
import type { Failure } from '../../../domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { Reply } from '../../../domain/reply.ts';
import type { Deadline } from '../../../lib/deadlines.ts';
import { Queue, type Linked } from '../../../lib/queue.ts';

/** One conversation on one channel: its unsettled rows in order. */
export class ConversationQueue {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly inbox = new Queue<InRow>();
  /** Parked replies are not in it: they have left the order. */
  readonly outbox = new Queue<OutRow>();
  /** The head has been offered or claimed; nothing behind it may start. */
  inBusy = false;
  outBusy = false;
  /** Unsettled replies, parked ones included. */
  replies = 0;
  /** The parked ones; null: there never were any. */
  parked: Set<OutRow> | null = null;
  /** The lane has no rows. */
  idle = true;
  /** An operator has it: none of its messages is offered. */
  byHand = false;
  /** Set while its head waits for what may be one message with it. */
  gathering: Deadline | null = null;
  /** Grows when what is remembered of the conversation changes by anything but its own turns. */
  historyVersion = 0;

  constructor(channel: ChannelKey, conversation: ConversationId) {
    this.channel = channel;
    this.conversation = conversation;
  }

  get empty(): boolean {
    return this.inbox.length === 0 && this.replies === 0 && !this.inBusy && !this.outBusy;
  }

  /** Nothing is to be done in it before something comes, or the time of a parked reply. */
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

  /** Takes out all that match. The next may start, unless the end of one is being written down. */
  extract(matches: (row: Row) => boolean): readonly Row[] {
    const [message, reply] = [this.inbox.peek(), this.outbox.peek()];
    const rows: readonly Row[] = [...this.inbox.extract(matches), ...this.outbox.extract(matches)];
    if (message !== this.inbox.peek() && message?.taken === false) this.inBusy = false;
    if (reply !== this.outbox.peek() && reply?.taken === false) this.outBusy = false;
    return rows;
  }
}

/** A message and its replies, from acceptance until the last of them is settled. */
export class MessageProgress {
  open = 1;
  readonly bytes: number;
  /** Where the message's story is told on, in the form that keeps stories in memory. */
  story = 0;
  /** Who said the message; null when that is not known any more (after a restart). */
  readonly sender: string | null;
  #promise: Promise<void> | null = null;
  #resolve: (() => void) | null = null;

  constructor(bytes: number, sender: string | null) {
    this.bytes = bytes;
    this.sender = sender;
  }

  /** Resolves when everything is settled; made only for those who ask. */
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

/** What order and totals need of a message, and of a reply, beside the lane. */
export type MessageHead = Pick<Message, 'id' | 'acceptedAt'>;
export type ReplyHead = Pick<Reply, 'id' | 'inReplyTo' | 'createdAt'>;

/** A row as a storage has it; what it says stays there until the row is handed out. */
export type Stored<Head> = {
  readonly head: Head;
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly seq: number;
  readonly bytes: number;
};
export type StoredMessage = Stored<MessageHead> & { readonly sender: string };
export type StoredReply = Stored<ReplyHead>;

/** `before` and `after` are its place among the unsettled rows of its side. */
export type InRow = Linked & {
  readonly box: 'in';
  readonly seq: number;
  readonly queue: ConversationQueue;
  readonly head: MessageHead;
  /** Null: it is with the storage, and read when the row is handed out. */
  message: Message | null;
  readonly progress: MessageProgress;
  /** The number of the try that comes next or is under way; counts from 1. */
  attempt: number;
  /** Those directly behind it that were handed out with it, as one message; they end with it. */
  joined: readonly WholeInRow[];
  /** The lane's edition when it was last handed out. */
  historyVersion: number;
  /** Handed out, until it is given back, postponed, or what ended it is written down. */
  taken: boolean;
  /** Taken away: it counts nowhere any more. */
  gone: boolean;
  /** The process ended twice while it ran alone: it is buried, and runs no more. */
  poison: boolean;
};

export type OutRow = Linked & {
  readonly box: 'out';
  readonly seq: number;
  readonly queue: ConversationQueue;
  readonly head: ReplyHead;
  /** Null: as for a message. */
  reply: Reply | null;
  readonly bytes: number;
  readonly progress: MessageProgress;
  attempt: number;
  /**
   * Attempts that do not move it along its schedule: those before the last replay, those that
   * were only counted because the process died, and those that a person asked for.
   */
  replayedAfter: number;
  possibleDuplicate: boolean;
  /** The reply may arrive after what came later. */
  late: boolean;
  /** Late, and out of its lane: it holds up nothing. */
  parked: boolean;
  /** When it was last handed out; milliseconds since 1970. */
  takenAt: number;
  taken: boolean;
  gone: boolean;
  /** Set while it waits for its time. */
  due: Deadline | null;
  /** That time, milliseconds since 1970; of no meaning while it does not wait. */
  dueAt: number;
  /** Why its last try failed; null: none did, or that is not known. */
  why: Pick<Failure, 'kind' | 'status'> | null;
};

/** How a reply was when it was last written down. */
export type OutState = Pick<
  OutRow,
  'attempt' | 'replayedAfter' | 'possibleDuplicate' | 'late' | 'parked' | 'why'
> & {
  /** When it is to be tried again; null: it waits its turn. */
  readonly dueAt: number | null;
};

export type Row = InRow | OutRow;

/** Rows whose text is in memory, as that of every claimed one is. */
export type WholeInRow = InRow & { readonly message: Message };
export type WholeOutRow = OutRow & { readonly reply: Reply };
export type WholeRow = WholeInRow | WholeOutRow;

export function isWhole(row: Row): row is WholeRow {
  return (row.box === 'in' ? row.message : row.reply) !== null;
}

/** What stands alone shares this one. */
export const noneJoined: readonly WholeInRow[] = [];

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
    joined: noneJoined,
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

/** A part of a split reply has the whole one's id, and `-00`, `-01` … behind it. */
export const wholeIdLength = 22;

/** The parts that wait behind this part of a split reply: when it dies they die with it. */
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
