/**
 * What every backend of the ledger keeps in memory: which row is next in which conversation, which
 * replies are due when, and how much there is. It knows order and does no I/O.
 *
 * A row is offered when it is put into the ready queue of its box and channel. That happens when it
 * heads its conversation queue and no row of its side is offered or claimed. A parked reply has
 * left its queue; it is offered by itself when it is due. The caller that takes a row ends it by
 * `settle`, `giveBack` or `postpone`.
 */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import {
  Queues,
  makeInRow,
  makeOutRow,
  MessageProgress,
  messageRow,
  replyRow,
  MergeWaits,
  mergeableBehind,
  noneMerged,
  type InRow,
  type ConversationQueue,
  type OutRow,
  type OutState,
  type Row,
  type StoredMessage,
  type StoredReply,
  type MergeClock,
} from './queue.ts';
import { DelayQueue } from './schedule.ts';
import type { ChannelBacklog } from '../ledger.ts';
import { isOnChannel } from '../../domain/records.ts';
import { LinkedSet, Queue } from '../../lib/queue.ts';

export class WorkingSet {
  readonly #queues = new Queues();
  readonly ready = new ReadyQueues();
  readonly delayed: DelayQueue;
  readonly totals = new Totals();
  readonly #mergeWaits: MergeWaits;
  readonly leaving: Leaving;
  readonly #offering: Offering;
  readonly byHand: TakenOverQueues;
  #seq = 0;
  #closed = false;

  constructor(clock: MergeClock) {
    const { ready } = this;
    this.delayed = new DelayQueue(clock, (row) => ready.offer(row));
    this.#mergeWaits = new MergeWaits(clock, (row) => ready.offer(row));
    this.leaving = new Leaving(this.totals, ready, this.delayed);
    this.#offering = new Offering(ready, this.#queues, this.#mergeWaits);
    this.byHand = new TakenOverQueues(this.#queues, ready, this.#offering);
  }

  /** The number of a new row. Numbers follow the order of acceptance over all conversations. */
  nextSeq(): number {
    return ++this.#seq;
  }

  /** The last number given. */
  get lastSeq(): number {
    return this.#seq;
  }

  /** Ids of the messages that are handed out. */
  get atWork(): readonly string[] {
    return this.#queues.idsOfTaken();
  }

  /** Sets the listener for queues in which a row has ended or was given back. */
  onRest(rested: (queue: ConversationQueue) => void): void {
    this.#offering.onRest(rested);
  }

  /** Keeps the messages of a queue back while rows are restored into it. `goOn` ends that. */
  hold(channel: ChannelKey, conversation: ConversationId): ConversationQueue {
    const queue = this.#queues.of(channel, conversation);
    queue.inBusy = true;
    return queue;
  }

  /** @param held its first message is not offered */
  goOn(queue: ConversationQueue, held = false): void {
    queue.inBusy = held;
    this.#offering.offerNext(queue);
  }

  addMessage(message: Message, seq: number): InRow {
    return this.restoreMessage(messageRow(message, seq), message);
  }

  addReply(reply: Reply, of: MessageProgress, seq: number): OutRow {
    const row = this.#makeReply(replyRow(reply, seq), reply, of);
    row.queue.outbox.push(row);
    this.#offering.offerReply(row.queue);
    return row;
  }

  take(box: Box, channel: ChannelKey): Row | undefined {
    if (this.#closed) return undefined;
    const row = this.ready.take(box, channel);
    if (row === undefined) return undefined;
    this.totals.claimed[box]++;
    row.taken = true;
    if (row.box === 'in') row.historyVersion = row.queue.historyVersion;
    return row;
  }

  /** Lets a taken message wait for messages to merge with. @returns false: it need not wait */
  waitToMerge(row: InRow): boolean {
    if (!this.#mergeWaits.start(row)) return false;
    this.holdAgain(row);
    // A worker may take another message in its place.
    this.ready.ring('in', row.queue.channel);
    return true;
  }

  takeHeld(row: InRow): void {
    this.totals.claimed.in++;
    row.taken = true;
    row.historyVersion = row.queue.historyVersion;
  }

  /** Takes a row back without offering it. */
  holdAgain(row: InRow): void {
    this.totals.claimed.in--;
    row.taken = false;
  }

  /**
   * Removes an ended row: answered, delivered or dead. The next row of its queue may start.
   * @param parts the later parts of the reply, which end with it
   */
  settle(row: Row, parts: readonly OutRow[] = []): void {
    const { queue } = row;
    if (row.box === 'in') this.leaving.settleMessage(row);
    if (row.gone) return this.#offering.endWritten(row);
    if (row.box === 'in') queue.inBusy = false;
    else {
      this.totals.claimed.out--;
      this.leaving.settleReply(row);
      for (const part of parts) this.leaving.settleReply(part);
      if (!row.parked) {
        queue.outBusy = false;
        this.#offering.offerReply(queue);
      }
    }
    this.#offering.offerMessage(queue);
    this.#offering.rest(queue);
  }

  /**
   * Ends a message that the storage no longer has. The messages merged into it are separate
   * messages again.
   */
  lost(row: Row): void {
    if (row.box === 'in') this.leaving.unmerge(row);
    this.settle(row);
  }

  /**
   * Returns a row to the head of its queue, without counting an attempt. It is the first to be
   * taken again.
   */
  giveBack(row: Row): void {
    this.totals.claimed[row.box]--;
    row.taken = false;
    if (row.box === 'in') this.leaving.unmerge(row);
    this.#offering.offerAgain(row);
  }

  /**
   * Offers a reply again at `at` (milliseconds since 1970). With `park` it leaves its queue first.
   */
  postpone(row: OutRow, at: number, park: boolean): void {
    if (row.gone) return this.#offering.endWritten(row);
    this.totals.claimed.out--;
    row.taken = false;
    const { queue } = row;
    if (park && !row.parked) {
      this.delayed.park(row);
      queue.outbox.shift();
      queue.outBusy = false;
      this.#offering.offerReply(queue);
    }
    this.delayed.until(row, at);
    this.#offering.rest(queue);
  }

  /** The queues of a channel, or the queue of one conversation; empty where there are none. */
  queuesOn(channel: ChannelKey, conversation: ConversationId | null): readonly ConversationQueue[] {
    return this.#queues.on(channel, conversation);
  }

  /**
   * Removes rows in any state. The caller has revoked and given back the claims on them. A queue
   * waits for a removed row whose end is being written.
   * @param conversation null: all conversations of the channel
   * @returns how many rows it removed
   */
  remove(
    channel: ChannelKey,
    conversation: ConversationId | null,
    matches: (row: Row) => boolean,
  ): number {
    let removed = 0;
    const queues = this.#queues.on(channel, conversation);
    for (const queue of queues) {
      const rows = queue.extract(matches);
      for (const row of rows) this.leaving.remove(row);
      removed += rows.length;
    }
    for (const row of this.delayed.parked) {
      if (row.queue.channel !== channel || !matches(row)) continue;
      if (conversation !== null && row.queue.conversation !== conversation) continue;
      this.leaving.remove(row);
      removed++;
    }
    this.ready.withdrawGone(channel);
    for (const queue of queues) this.#offering.offerNext(queue);
    return removed;
  }

  /**
   * Call when the memory of a conversation has changed: a claim on it may hold the older memory.
   */
  outdate(channel: ChannelKey, conversation: ConversationId): void {
    for (const queue of this.#queues.on(channel, conversation)) queue.historyVersion++;
  }

  outdateAll(): void {
    for (const queue of this.#queues) queue.historyVersion++;
  }

  /**
   * Puts a stored or replayed message back. @param message null: its text is read when it is handed
   * out
   */
  restoreMessage(stored: StoredMessage, message: Message | null = null): InRow {
    const { head, channel, conversation, seq, bytes, sender } = stored;
    const queue = this.#queues.of(channel, conversation);
    // One string for all messages of one sender, where the queue shows it.
    const known = queue.inbox.peek()?.progress.sender;
    const progress = new MessageProgress(bytes, known === sender ? known : sender);
    const row = makeInRow(head, message, queue, progress, seq);
    this.#seq = Math.max(this.#seq, seq);
    this.totals.addMessage(progress);
    this.ready.addUnsettled(row);
    queue.inbox.push(row);
    this.#offering.offerMessage(queue);
    return row;
  }

  /**
   * Puts a stored or replayed reply back, in the state last written.
   * @param of the progress of the message that it answers; null: not known
   */
  restoreReply(stored: StoredReply, of: MessageProgress | null, state: OutState): OutRow {
    const row = this.#makeReply(stored, null, of);
    const { queue } = row;
    const { dueAt, ...written } = state;
    Object.assign(row, written);
    if (row.parked) {
      this.delayed.park(row);
      this.delayed.until(row, dueAt ?? 0);
      return row;
    }
    queue.outbox.push(row);
    if (dueAt === null || queue.outBusy) {
      this.#offering.offerReply(queue);
    } else {
      queue.outBusy = true;
      this.delayed.until(row, dueAt);
    }
    return row;
  }

  /** Whether the working set holds this reply. */
  hasReply({ head, channel, conversation }: StoredReply): boolean {
    const [queue] = this.#queues.on(channel, conversation);
    return queue !== undefined && queue.hasReply(head.id);
  }

  /**
   * @param isRestoring true while a start restores rows: no message is offered until all are back
   */
  restoring(isRestoring: boolean): void {
    this.#offering.restoring(isRestoring);
  }

  /** @param seq the last number ever given: new rows come after all old ones */
  startAfter(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
  }

  idsOfUnsettled(most: number): readonly string[] {
    const parked = Array.from(this.delayed.parked, ({ head }) => head.id);
    return [...this.#queues.idsOfRows(most), ...parked].slice(0, most);
  }

  gauges() {
    return this.totals.gauges(this.ready, this.delayed.deferred.size, this.#queues.busy);
  }

  backlog(): readonly Omit<ChannelBacklog, 'unroutableSince'>[] {
    return this.ready.backlog();
  }

  /** Cancels every timer. Nothing is offered afterwards. */
  close(): void {
    this.#closed = true;
    this.ready.close();
    this.#queues.stopTimers();
    for (const { due } of this.delayed.parked) due?.cancel();
  }

  #makeReply(stored: StoredReply, reply: Reply | null, of: MessageProgress | null): OutRow {
    const { head, channel, conversation, seq, bytes } = stored;
    const queue = this.#queues.of(channel, conversation);
    const progress = of ?? new MessageProgress(0, null);
    const row = makeOutRow(head, reply, bytes, queue, progress, seq);
    this.#seq = Math.max(this.#seq, seq);
    this.totals.addReply(row, of);
    this.ready.addUnsettled(row);
    queue.replies++;
    return row;
  }
}

/** Takes rows out of the working set, and merges messages that are handed out as one. */
class Leaving {
  readonly #totals: Totals;
  readonly #ready: ReadyQueues;
  readonly #delayed: DelayQueue;

  constructor(totals: Totals, ready: ReadyQueues, delayed: DelayQueue) {
    this.#totals = totals;
    this.#ready = ready;
    this.#delayed = delayed;
  }

  /** Merges into a taken message the messages behind it that belong to it. */
  merge(row: InRow): void {
    row.merged = mergeableBehind(row);
    for (const other of row.merged) {
      other.taken = true;
      this.#totals.claimed.in++;
    }
  }

  /** Undoes `merge`: the merged messages are separate messages again. */
  unmerge(row: InRow): void {
    for (const other of row.merged) {
      if (other.gone) continue;
      other.taken = false;
      this.#totals.claimed.in--;
    }
    row.merged = noneMerged;
  }

  /**
   * Removes an ended message and the messages merged into it. They are the first rows of their
   * queue.
   */
  settleMessage(row: InRow): void {
    for (const other of row.merged) if (!other.gone) this.#settleOne(other);
    if (!row.gone) this.#settleOne(row);
    row.merged = noneMerged;
  }

  /** Removes a row in any state. The caller has taken it out of its queue, or it is parked. */
  remove(row: Row): void {
    row.gone = true;
    if (row.taken) this.#totals.claimed[row.box]--;
    this.#ready.removeUnsettled(row);
    if (row.box === 'out') {
      row.queue.replies--;
      this.#totals.removeReply(row);
      this.#delayed.drop(row);
    }
    this.#totals.closeRow(row.progress);
  }

  settleReply(row: OutRow): void {
    const { queue } = row;
    this.#ready.removeUnsettled(row);
    queue.replies--;
    this.#totals.removeReply(row);
    this.#delayed.drop(row);
    if (!row.parked) queue.outbox.shift();
    this.#totals.closeRow(row.progress);
  }

  #settleOne(row: InRow): void {
    this.#totals.claimed.in--;
    this.#ready.removeUnsettled(row);
    row.queue.inbox.shift();
    this.#totals.closeRow(row.progress);
  }
}

/**
 * The conversations that an operator has taken over. The working set offers none of their messages;
 * their replies go out as usual. Takeovers are kept by conversation, since a queue may be dropped
 * and made again meanwhile.
 */
class TakenOverQueues {
  readonly #queues: Queues;
  readonly #ready: ReadyQueues;
  readonly #offering: Offering;
  readonly #channels = new Map<ChannelKey, Set<ConversationId>>();

  constructor(queues: Queues, ready: ReadyQueues, offering: Offering) {
    this.#queues = queues;
    this.#ready = ready;
    this.#offering = offering;
    queues.isTakenOver = (channel, conversation) => this.has(channel, conversation);
  }

  has(channel: ChannelKey, conversation: ConversationId): boolean {
    return this.#channels.get(channel)?.has(conversation) === true;
  }

  /**
   * Withdraws a message of the conversation that is offered but not claimed. A claim stays valid:
   * the caller revokes it.
   */
  take(channel: ChannelKey, conversation: ConversationId): void {
    const conversations = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, conversations.add(conversation));
    for (const queue of this.#queues.on(channel, conversation)) {
      queue.isTakenOver = true;
      const offered = this.#ready.withdraw(channel, (row) => row.queue === queue);
      if (offered.length > 0) queue.inBusy = false;
      this.#offering.withdraw(queue);
    }
  }

  /** Offers the first message of the conversation again. */
  giveBack(channel: ChannelKey, conversation: ConversationId): void {
    const conversations = this.#channels.get(channel);
    if (conversations?.delete(conversation) !== true) return;
    if (conversations.size === 0) this.#channels.delete(channel);
    for (const queue of this.#queues.on(channel, conversation)) {
      queue.isTakenOver = false;
      this.#offering.offerNext(queue);
    }
  }

  /**
   * Up to `most` messages of the conversation in order, without those that are claimed or whose end
   * is being written.
   */
  waiting(channel: ChannelKey, conversation: ConversationId, most: number): readonly InRow[] {
    const rows: InRow[] = [];
    for (const { inbox } of this.#queues.on(channel, conversation)) {
      for (let at = 0; at < inbox.length && rows.length < most; at++) {
        const row = inbox.at(at)!;
        if (!row.taken) rows.push(row);
      }
    }
    return rows;
  }
}

/** How much a working set holds, and how much of it is handed out. */
export class Totals {
  /** Unsettled messages with their replies, and their bytes. */
  unsettled = 0;
  bytes = 0;
  readonly claimed: Record<Box, number> = { in: 0, out: 0 };

  addMessage({ bytes }: MessageProgress): void {
    this.unsettled++;
    this.bytes += bytes;
  }

  /** @param of the progress of the message that the reply answers; null: the message is gone */
  addReply({ bytes }: OutRow, of: MessageProgress | null): void {
    if (of === null) this.unsettled++;
    else of.open++;
    this.bytes += bytes;
  }

  removeReply({ bytes }: OutRow): void {
    this.bytes -= bytes;
  }

  /** Counts a row as closed. With the last row of a message, the message is settled. */
  closeRow(progress: MessageProgress): void {
    if (--progress.open > 0) return;
    this.unsettled--;
    this.bytes -= progress.bytes;
    progress.close();
  }

  /**
   * @param deferred replies that wait for their next attempt
   * @param queues conversations that have rows
   */
  gauges(ready: ReadyQueues, deferred: number, queues: number) {
    const { claimed } = this;
    return {
      inboxWaiting: ready.unsettled('in') - claimed.in,
      inboxClaimed: claimed.in,
      outboxWaiting: ready.unsettled('out') - claimed.out - deferred,
      outboxClaimed: claimed.out,
      outboxDeferred: deferred,
      bytesHeld: this.bytes,
      conversationsAtWork: queues,
    };
  }
}

// Decides what of a conversation queue may be taken next: its first message and its first reply.
// Each is offered when nothing of its side is offered or claimed.

/** A queue with this many unsettled replies gets no further message offered. */
const repliesMax = 100;

class Offering {
  readonly #ready: ReadyQueues;
  readonly #queues: Queues;
  readonly #mergeWaits: MergeWaits;
  #isRestoring = false;
  #restListener: (queue: ConversationQueue) => void = () => {};

  constructor(ready: ReadyQueues, queues: Queues, mergeWaits: MergeWaits) {
    this.#ready = ready;
    this.#queues = queues;
    this.#mergeWaits = mergeWaits;
  }

  onRest(listener: (queue: ConversationQueue) => void): void {
    this.#restListener = listener;
  }

  /**
   * @param isRestoring true while a start restores rows: no message is offered until all are back
   */
  restoring(isRestoring: boolean): void {
    this.#isRestoring = isRestoring;
    if (!isRestoring) for (const queue of this.#queues) this.offerMessage(queue);
  }

  /**
   * Offers the first message of the queue. A message that may still be merged with others is
   * offered when its wait ends.
   */
  offerMessage(queue: ConversationQueue): void {
    const head = queue.inbox.peek();
    if (queue.mergeWait !== null) this.withdraw(queue);
    if (head === undefined || queue.inBusy || queue.isTakenOver || this.#isRestoring) return;
    if (queue.replies >= repliesMax) return;
    queue.inBusy = true;
    if (head.message?.gather !== undefined && this.#mergeWaits.start(head)) return;
    this.#ready.offer(head);
  }

  /** Stops the wait of the first message for messages to merge with. */
  withdraw(queue: ConversationQueue): void {
    if (queue.mergeWait === null) return;
    this.#mergeWaits.stop(queue);
    queue.inBusy = false;
  }

  offerReply(queue: ConversationQueue): void {
    const head = queue.outbox.peek();
    if (head === undefined || queue.outBusy) return;
    queue.outBusy = true;
    this.#ready.offer(head);
  }

  /** Offers a released row before all others. A message of a taken-over queue is not offered. */
  offerAgain(row: Row): void {
    if (row.box === 'in' && row.queue.isTakenOver) row.queue.inBusy = false;
    else this.#ready.offerFirst(row);
    this.rest(row.queue);
  }

  offerNext(queue: ConversationQueue): void {
    this.offerMessage(queue);
    this.offerReply(queue);
    this.rest(queue);
  }

  /** Call when the end of a removed row is written: the next row of its side may start. */
  endWritten(row: Row): void {
    if (row.box === 'in') row.queue.inBusy = false;
    else if (!row.parked) row.queue.outBusy = false;
    this.offerNext(row.queue);
  }

  rest(queue: ConversationQueue): void {
    this.#queues.updateIdle(queue);
    this.#restListener(queue);
  }
}

/** The rows that can be taken now, by channel and box, and all unsettled rows of each channel. */
type ChannelQueues = {
  readonly in: Queue<InRow>;
  readonly out: Queue<OutRow>;
  /** All unsettled rows in the order in which they were added. */
  readonly inbox: LinkedSet<InRow>;
  readonly outbox: LinkedSet<OutRow>;
};

export class ReadyQueues {
  readonly #channels = new Map<ChannelKey, ChannelQueues>();
  readonly #notifier = new ReadyNotifier();

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#notifier.onReady(wake);
  }

  /** Adds a row behind all others that can be taken. */
  offer(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.in.push(row);
    else queues.out.push(row);
    this.#notifier.ring(row.box, row.queue.channel);
  }

  /** Adds a row before all others that can be taken. */
  offerFirst(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.in.unshift(row);
    else queues.out.unshift(row);
    this.#notifier.ring(row.box, row.queue.channel);
  }

  /** Notifies the listeners that a row may be claimable. */
  ring(box: Box, channel: ChannelKey): void {
    this.#notifier.ring(box, channel);
  }

  /** Notifies the listeners of every channel that has rows to take. */
  ringAll(): void {
    for (const [channel, queues] of this.#channels) {
      if (queues.in.length > 0) this.#notifier.ring('in', channel);
      if (queues.out.length > 0) this.#notifier.ring('out', channel);
    }
  }

  take(box: Box, channel: ChannelKey): Row | undefined {
    return this.#channels.get(channel)?.[box].shift();
  }

  /** Withdraws offered messages. @returns those that were offered */
  withdraw(channel: ChannelKey, matches: (row: InRow) => boolean): readonly InRow[] {
    return this.#channels.get(channel)?.in.extract(matches) ?? [];
  }

  /** Withdraws the offered rows that are removed. */
  withdrawGone(channel: ChannelKey): void {
    const queues = this.#channels.get(channel);
    queues?.in.extract(({ gone }) => gone);
    queues?.out.extract(({ gone }) => gone);
  }

  /** Adds an unsettled row. */
  addUnsettled(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.inbox.add(row);
    else queues.outbox.add(row);
  }

  /** Removes a row that is settled or gone. */
  removeUnsettled(row: Row): void {
    const queues = this.#of(row.queue.channel);
    if (row.box === 'in') queues.inbox.delete(row);
    else queues.outbox.delete(row);
  }

  /** How many rows are unsettled, those of channels without a worker pool included. */
  unsettled(box: Box): number {
    let rows = 0;
    for (const queues of this.#channels.values())
      rows += queues[box === 'in' ? 'inbox' : 'outbox'].size;
    return rows;
  }

  backlog(): readonly Omit<ChannelBacklog, 'unroutableSince'>[] {
    return [...this.#channels]
      .filter(([, { inbox, outbox }]) => inbox.size + outbox.size > 0)
      .map(([channel, { inbox, outbox }]) => ({
        channel,
        inbox: inbox.size,
        outbox: outbox.size,
        oldestAt: Math.min(
          inbox.first?.head.acceptedAt ?? Infinity,
          outbox.first?.head.createdAt ?? Infinity,
        ),
        oldestReplyAt: outbox.first?.head.createdAt ?? null,
      }));
  }

  /** How many replies can be taken now: of one channel, one type of channel, or all (null). */
  repliesReady(channel: string | null): number {
    let ready = 0;
    for (const [key, { out }] of this.#channels) if (isOnChannel(key, channel)) ready += out.length;
    return ready;
  }

  close(): void {
    this.#notifier.close();
  }

  #of(channel: ChannelKey): ChannelQueues {
    let queues = this.#channels.get(channel);
    if (queues === undefined) {
      const rows = { inbox: new LinkedSet<InRow>(), outbox: new LinkedSet<OutRow>() };
      queues = { in: new Queue(), out: new Queue(), ...rows };
      this.#channels.set(channel, queues);
    }
    return queues;
  }
}

/**
 * Notifies listeners that rows have become claimable. It combines all changes of one go into one
 * notification. It calls the listeners in a microtask, never inside the change, so that a listener
 * may claim at once.
 */
type Wake = (box: Box, channel: ChannelKey) => void;
type Notice = { readonly box: Box; readonly channel: ChannelKey };

class ReadyNotifier {
  readonly #listeners = new Set<Wake>();
  readonly #notices: Notice[] = [];
  /** Two lists that take turns, so that a notification allocates nothing. */
  #pending: Notice[] = [];
  #sent: Notice[] = [];

  onReady(wake: Wake): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  ring(box: Box, channel: ChannelKey): void {
    for (const one of this.#pending) if (one.box === box && one.channel === channel) return;
    if (this.#pending.length === 0) queueMicrotask(this.#notifyAll);
    this.#pending.push(this.#noticeOf(box, channel));
  }

  close(): void {
    this.#listeners.clear();
  }

  readonly #notifyAll = (): void => {
    const notices = this.#pending;
    this.#pending = this.#sent;
    this.#sent = notices;
    for (const { box, channel } of notices) {
      for (const wake of this.#listeners) wake(box, channel);
    }
    notices.length = 0;
  };

  /** There are few channels, and each has one entry for each box. */
  #noticeOf(box: Box, channel: ChannelKey): Notice {
    let notice = this.#notices.find((one) => one.box === box && one.channel === channel);
    if (notice === undefined) this.#notices.push((notice = { box, channel }));
    return notice;
  }
}
