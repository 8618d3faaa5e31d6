/**
 * What every backend of the ledger keeps in memory: which row is next in which conversation, which
 * replies are due when, and how much there is. It knows order and does no I/O.
 *
 * A message (`InRow`) and a reply (`OutRow`) are each in one of these states. A queue has two
 * sides, its inbox and its outbox. At most one row of a side is busy: in a state marked with *.
 * Then `inBusy` or `outBusy` of the queue is true, and no other row of that side may start.
 *
 *     message: waiting → [merging* →] offered* → taken* → settled
 *     reply:   waiting → offered* → taken* → settled;  taken* → deferred* → offered*
 *
 * - waiting → offered: it is the first of its side, and `heldBackBy` finds nothing in its way. It
 *   joins the ready rows of its channel, and the worker pools are notified.
 * - waiting → merging: the same, but more messages may belong to it. It is offered when that wait
 *   ends. A message that joins the queue restarts or ends the wait.
 * - offered → taken: a worker pool claims it (`take`). The messages behind it that belong to it are
 *   merged into it and taken too (`merge`). `Claims.claim` says when a claim gets nothing.
 * - offered or merging → waiting: an operator takes the conversation over (`takeOver`). Its replies
 *   go out as usual.
 * - taken → offered: it is given back, as the first to be taken again (`giveBack`). The messages
 *   merged into it wait again. The message itself waits, if `heldBackBy` finds something.
 * - taken → merging: its text was read only now, and shows that more messages may belong to it.
 * - taken → settled: the commit of its end (`settle`). Later parts of a dead reply die with it. If
 *   the storage no longer has a message, it is `lost`: the messages merged into it wait again.
 * - taken → deferred: an attempt failed, or the platform wants a pause (`postpone`). To be
 *   parked, a reply first leaves its queue. From then on it holds up no other, and is never busy.
 * - deferred → offered: its time has come (`Schedule`), or an operator asks for it.
 * - suspected* → taken: crash isolation runs a message that may have ended the process. Given back,
 *   it is suspected again. A message becomes suspected only at a start, or when its queue comes
 *   from another process.
 * - any → gone: it is forgotten, or an operator has answered it (`remove`). The queue stays busy
 *   while the end of a removed row is being written.
 */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { isOnChannel } from '../../domain/records.ts';
import type { Reply } from '../../domain/reply.ts';
import type { Clock } from '../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../lib/deadlines.ts';
import type { ChannelBacklog } from '../ledger.ts';
import {
  bytesOf,
  bytesOfMessage,
  InRow,
  mergeableBehind,
  mergeWaitMs,
  MessageProgress,
  noneMerged,
  OutRow,
  Queues,
  type ChannelRows,
  type ConversationQueue,
  type OutState,
  type Row,
  type StoredMessage,
  type StoredReply,
} from './queue.ts';
import { Schedule } from './schedule.ts';

/** A queue with this many unsettled replies gets no further message offered. */
const repliesMax = 100;

/** @property deadlines timers by `steady`; left out: new ones are made */
export type MergeClock = Clock & { readonly deadlines?: Deadlines };

/** Why the first row of one side of a queue is not offered. `busy`: see the states above. */
type HeldBack = 'empty' | 'busy' | 'merging' | 'taken_over' | 'restoring' | 'many_replies';

type Wake = (box: Box, channel: ChannelKey) => void;

export class WorkingSet {
  readonly schedule: Schedule;
  /** How much there is: unsettled messages with their replies, their bytes, and rows handed out. */
  readonly totals = { unsettled: 0, bytes: 0, claimed: { in: 0, out: 0 } };
  readonly #queues = new Queues();
  readonly #now: () => number;
  /** The waits of messages for messages to merge with. */
  readonly #mergeWaits: Deadlines;
  readonly #wakes = new Set<Wake>();
  /** Channels with ready rows. Two lists take turns, so that a notification allocates nothing. */
  #ringing: ChannelRows[] = [];
  #rung: ChannelRows[] = [];
  #restListener: (queue: ConversationQueue) => void = () => {};
  #isRestoring = false;
  #seq = 0;
  #closed = false;

  constructor(clock: MergeClock) {
    this.#now = clock.now;
    this.#mergeWaits = clock.deadlines ?? createDeadlines(clock.steady);
    this.schedule = new Schedule(clock, (row) => this.#offer(row));
  }

  /** The number of a new row. Numbers follow the order of acceptance over all conversations. */
  nextSeq(): number {
    return ++this.#seq;
  }

  /** The last number given. */
  get lastSeq(): number {
    return this.#seq;
  }

  /** @param seq the last number ever given: new rows come after all old ones */
  startAfter(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
  }

  /**
   * Decides whether the first row of one side may be offered. Nothing else decides it.
   * @returns what is in its way; null: nothing
   */
  heldBackBy(queue: ConversationQueue, box: Box): HeldBack | null {
    if (box === 'out') {
      if (queue.outbox.length === 0) return 'empty';
      return queue.outBusy ? 'busy' : null;
    }
    if (queue.inbox.length === 0) return 'empty';
    if (queue.inBusy) return queue.mergeWait === null ? 'busy' : 'merging';
    if (queue.isTakenOver) return 'taken_over';
    if (this.#isRestoring) return 'restoring';
    return queue.replies >= repliesMax ? 'many_replies' : null;
  }

  /** Adds a message that was accepted. */
  addMessage(message: Message, seq: number): InRow {
    const { channel, conversation, sender } = message;
    const bytes = bytesOfMessage(message);
    const stored = { head: message, channel, conversation, seq, bytes, sender: sender.id };
    return this.restoreMessage(stored, message);
  }

  /** Adds a reply of a turn that has ended. */
  addReply(reply: Reply, of: MessageProgress, seq: number): void {
    const { address, conversation, text } = reply;
    const bytes = bytesOf(text.length + conversation.length);
    const stored = { head: reply, channel: address.channel, conversation, seq, bytes };
    const { queue } = this.#makeReply(stored, reply, of, true);
    this.#offerReply(queue);
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
    const row = new InRow(head, message, queue, progress, seq);
    this.startAfter(seq);
    this.totals.unsettled++;
    this.totals.bytes += bytes;
    queue.rows.unsettled.in.add(row);
    queue.inbox.push(row);
    this.#offerMessage(queue);
    return row;
  }

  /**
   * Puts a stored or replayed reply back, in the state last written.
   * @param of the progress of the message that it answers; null: not known
   */
  restoreReply(stored: StoredReply, of: MessageProgress | null, state: OutState): OutRow {
    const { dueAt, ...written } = state;
    const row = this.#makeReply(stored, null, of, !written.parked);
    const { queue } = row;
    Object.assign(row, written);
    if (row.parked) {
      queue.park(row);
      this.schedule.until(row, dueAt ?? 0);
    } else if (dueAt === null || queue.outBusy) {
      this.#offerReply(queue);
    } else {
      queue.outBusy = true;
      this.schedule.until(row, dueAt);
    }
    return row;
  }

  /**
   * @param isRestoring true while a start restores rows: no message is offered until all are back
   */
  restoring(isRestoring: boolean): void {
    this.#isRestoring = isRestoring;
    if (!isRestoring) for (const queue of this.#queues) this.#offerMessage(queue);
  }

  /** Keeps the messages of a queue back while rows are restored into it. `goOn` ends that. */
  hold(channel: ChannelKey, conversation: ConversationId): ConversationQueue {
    const queue = this.#queues.of(channel, conversation);
    queue.inBusy = true;
    return queue;
  }

  /** Ends `hold`. @param held true: the first message stays back: it is at work, or suspected */
  goOn(queue: ConversationQueue, held = false): void {
    queue.inBusy = held;
    this.#offerNext(queue);
  }

  /** Takes the next offered row of a channel; the caller hands it out. */
  take(box: Box, channel: ChannelKey): Row | undefined {
    if (this.#closed) return undefined;
    const row = this.#queues.channel(channel)?.ready[box].shift();
    if (row !== undefined) this.takeHeld(row);
    return row;
  }

  /** Takes a row that is held back. */
  takeHeld(row: Row): void {
    this.totals.claimed[row.box]++;
    row.taken = true;
    if (row.box === 'in') row.historyVersion = row.queue.historyVersion;
  }

  /** Takes a row back without offering it. */
  holdAgain(row: Row): void {
    this.totals.claimed[row.box]--;
    row.taken = false;
  }

  /** Merges into a taken message the messages behind it that belong to it. */
  merge(row: InRow): void {
    row.merged = mergeableBehind(row);
    for (const other of row.merged) this.takeHeld(other);
  }

  /** Lets a taken message wait for messages to merge with. @returns false: it need not wait */
  waitToMerge(row: InRow): boolean {
    if (!this.#startMergeWait(row)) return false;
    this.holdAgain(row);
    // A worker may take another message in its place.
    this.ring('in', row.queue.rows);
    return true;
  }

  /**
   * Removes an ended row: answered, delivered or dead. The next row of its queue may start.
   * @param parts the later parts of the reply, which end with it
   */
  settle(row: Row, parts: readonly OutRow[] = []): void {
    if (row.box === 'in') {
      for (const other of row.merged) if (!other.gone) this.#shift(other);
      row.merged = noneMerged;
    }
    if (!row.gone) {
      this.#shift(row);
      for (const part of parts) this.#shift(part);
    }
    this.#ended(row);
  }

  /**
   * Ends a message that the storage no longer has. The messages merged into it are separate
   * messages again.
   */
  lost(row: Row): void {
    this.#unmerge(row);
    this.settle(row);
  }

  /**
   * Returns a row to the head of its queue, without counting an attempt. It is the first to be
   * taken again.
   */
  giveBack(row: Row): void {
    this.holdAgain(row);
    this.#unmerge(row);
    const { queue } = row;
    if (row.box === 'in') {
      queue.inBusy = false;
      if (this.heldBackBy(queue, 'in') !== null) return this.#rest(queue);
      queue.inBusy = true;
    }
    this.#offer(row, true);
    this.#rest(queue);
  }

  /**
   * Offers a reply again at `at` (milliseconds since 1970). With `park` it leaves its queue first.
   */
  postpone(row: OutRow, at: number, park: boolean): void {
    if (row.gone) return this.#ended(row);
    this.holdAgain(row);
    const { queue } = row;
    if (park && !row.parked) {
      queue.park(row);
      queue.outbox.shift();
      queue.outBusy = false;
      this.#offerReply(queue);
    }
    this.schedule.until(row, at);
    this.#rest(queue);
  }

  /**
   * Withdraws a message of the conversation that is offered but not claimed. A claim stays valid:
   * the caller revokes it. The conversation stays taken over until `endTakeover`.
   */
  takeOver(channel: ChannelKey, conversation: ConversationId): void {
    const queue = this.#queues.of(channel, conversation);
    queue.isTakenOver = true;
    const offered = queue.rows.ready.in.extract((row) => row.queue === queue);
    if (offered.length > 0) queue.inBusy = false;
    this.#stopMergeWait(queue);
    this.#queues.updateIdle(queue);
  }

  /** Offers the first message of the conversation again. */
  endTakeover(channel: ChannelKey, conversation: ConversationId): void {
    const [queue] = this.#queues.on(channel, conversation);
    if (queue?.isTakenOver !== true) return;
    queue.isTakenOver = false;
    this.#offerNext(queue);
  }

  /**
   * Up to `most` messages of the conversation in order, without those that are claimed or whose end
   * is being written.
   */
  unclaimed(channel: ChannelKey, conversation: ConversationId, most: number): readonly InRow[] {
    const rows: InRow[] = [];
    for (const { inbox } of this.#queues.on(channel, conversation)) {
      for (let at = 0; at < inbox.length && rows.length < most; at++) {
        const row = inbox.at(at)!;
        if (!row.taken) rows.push(row);
      }
    }
    return rows;
  }

  /**
   * Removes rows in any state. The caller has revoked and given back the claims on them.
   * @param conversation null: all conversations of the channel
   * @returns how many rows it removed
   */
  remove(
    channel: ChannelKey,
    conversation: ConversationId | null,
    matches: (row: Row) => boolean,
  ): number {
    const queues = this.#queues.on(channel, conversation);
    const removed = queues.flatMap((queue) => queue.extract(matches));
    for (const row of removed) {
      row.gone = true;
      this.#countOut(row);
    }
    const ready = this.#queues.channel(channel)?.ready;
    ready?.in.extract(({ gone }) => gone);
    ready?.out.extract(({ gone }) => gone);
    for (const queue of queues) this.#offerNext(queue);
    return removed.length;
  }

  /** The queues of a channel, or the queue of one conversation; empty where there are none. */
  queuesOn(channel: ChannelKey, conversation: ConversationId | null): readonly ConversationQueue[] {
    return this.#queues.on(channel, conversation);
  }

  /** Whether the working set holds this reply. */
  hasReply({ head, channel, conversation }: StoredReply): boolean {
    return this.#queues.on(channel, conversation).some((queue) => queue.hasReply(head.id));
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

  /** Sets the listener for queues in which a row has ended or was given back. */
  onRest(rested: (queue: ConversationQueue) => void): void {
    this.#restListener = rested;
  }

  /**
   * Calls `wake` when rows have become claimable, once for all changes of one task. The call comes
   * in a microtask, never inside a change, so that `wake` may claim.
   */
  onReady(wake: Wake): () => void {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }

  /** Notifies the listeners that a row of the channel may be claimable. */
  ring(box: Box, rows: ChannelRows): void {
    const { isRinging } = rows;
    if (!isRinging.in && !isRinging.out) {
      if (this.#ringing.length === 0) queueMicrotask(this.#wakeAll);
      this.#ringing.push(rows);
    }
    isRinging[box] = true;
  }

  /** Notifies the listeners of every channel that has rows to take. */
  ringAll(): void {
    for (const rows of this.#queues.channels) {
      if (rows.ready.in.length > 0) this.ring('in', rows);
      if (rows.ready.out.length > 0) this.ring('out', rows);
    }
  }

  /** How many replies can be taken now: of one channel, one type of channel, or all (null). */
  repliesReady(of: string | null): number {
    let replies = 0;
    for (const { channel, ready } of this.#queues.channels)
      if (isOnChannel(channel, of)) replies += ready.out.length;
    return replies;
  }

  /** Ids of the messages that are handed out. Each is the first of its queue. */
  get atWork(): readonly string[] {
    const ids: string[] = [];
    for (const { inbox } of this.#queues) {
      const first = inbox.peek();
      if (first?.taken === true) ids.push(first.head.id);
    }
    return ids;
  }

  /** Ids of messages and replies in order, queue by queue, and of parked replies after them. */
  idsOfUnsettled(most: number): readonly string[] {
    const ids: string[] = [];
    for (const { inbox, outbox } of this.#queues) {
      if (ids.length >= most) break;
      for (let i = 0; i < inbox.length; i++) ids.push(inbox.at(i)!.head.id);
      for (let i = 0; i < outbox.length; i++) ids.push(outbox.at(i)!.head.id);
    }
    for (const { parked } of this.#queues) for (const { head } of parked ?? []) ids.push(head.id);
    return ids.slice(0, most);
  }

  gauges() {
    const { claimed, bytes } = this.totals;
    const deferred = this.schedule.size;
    const unsettled = { in: 0, out: 0 };
    for (const rows of this.#queues.channels) {
      unsettled.in += rows.unsettled.in.size;
      unsettled.out += rows.unsettled.out.size;
    }
    return {
      inboxWaiting: unsettled.in - claimed.in,
      inboxClaimed: claimed.in,
      outboxWaiting: unsettled.out - claimed.out - deferred,
      outboxClaimed: claimed.out,
      outboxDeferred: deferred,
      bytesHeld: bytes,
      conversationsAtWork: this.#queues.busy,
    };
  }

  backlog(): readonly Omit<ChannelBacklog, 'unroutableSince'>[] {
    return Array.from(this.#queues.channels, (rows) => {
      const oldestReplyAt = rows.oldestAt('out');
      return {
        channel: rows.channel,
        inbox: rows.unsettled.in.size,
        outbox: rows.unsettled.out.size,
        oldestAt: Math.min(rows.oldestAt('in') ?? Infinity, oldestReplyAt ?? Infinity),
        oldestReplyAt,
      };
    }).filter(({ inbox, outbox }) => inbox + outbox > 0);
  }

  /** Cancels every timer. Nothing is offered afterwards. */
  close(): void {
    this.#closed = true;
    this.#wakes.clear();
    for (const { outbox, mergeWait, parked } of this.#queues) {
      outbox.peek()?.due?.cancel();
      mergeWait?.cancel();
      for (const { due } of parked ?? []) due?.cancel();
    }
  }

  /** @param isInOrder false: it is parked, and enters no queue */
  #makeReply(
    stored: StoredReply,
    reply: Reply | null,
    of: MessageProgress | null,
    isInOrder: boolean,
  ): OutRow {
    const queue = this.#queues.of(stored.channel, stored.conversation);
    const row = new OutRow(stored, reply, queue, of ?? new MessageProgress(0, null));
    this.startAfter(stored.seq);
    if (of === null) this.totals.unsettled++;
    else of.open++;
    this.totals.bytes += row.bytes;
    queue.rows.unsettled.out.add(row);
    if (isInOrder) queue.outbox.push(row);
    return row;
  }

  /**
   * Offers the first message of the queue. A message that may still be merged with others is
   * offered when its wait ends.
   */
  #offerMessage(queue: ConversationQueue): void {
    this.#stopMergeWait(queue);
    if (this.heldBackBy(queue, 'in') !== null) return;
    queue.inBusy = true;
    const head = queue.inbox.peek()!;
    if (head.message?.gather === undefined || !this.#startMergeWait(head)) this.#offer(head);
  }

  #offerReply(queue: ConversationQueue): void {
    if (this.heldBackBy(queue, 'out') !== null) return;
    queue.outBusy = true;
    this.#offer(queue.outbox.peek()!);
  }

  #offerNext(queue: ConversationQueue): void {
    this.#offerReply(queue);
    this.#offerMessage(queue);
    this.#rest(queue);
  }

  /** @param isFirst it is taken before all other rows of its channel */
  #offer(row: Row, isFirst = false): void {
    const { rows } = row.queue;
    if (isFirst) rows.ready[row.box].unshift(row);
    else rows.ready[row.box].push(row);
    this.ring(row.box, rows);
  }

  /**
   * Starts or restarts the wait of a message, by what its queue holds now. @returns false: it need
   * not wait
   */
  #startMergeWait(head: InRow): boolean {
    const { queue } = head;
    queue.mergeWait?.cancel();
    queue.mergeWait = null;
    const ms = mergeWaitMs(head, this.#now());
    if (ms <= 0) return false;
    queue.mergeWait = this.#mergeWaits.after(ms, () => {
      queue.mergeWait = null;
      this.#offer(head);
    });
    return true;
  }

  #stopMergeWait(queue: ConversationQueue): void {
    if (queue.mergeWait === null) return;
    queue.mergeWait.cancel();
    queue.mergeWait = null;
    queue.inBusy = false;
  }

  /** Undoes `merge`: the merged messages are separate messages again. */
  #unmerge(row: Row): void {
    if (row.box === 'out') return;
    for (const other of row.merged) if (!other.gone) this.holdAgain(other);
    row.merged = noneMerged;
  }

  /** Takes a settled row out of its queue: it is the first of its side, or parked. */
  #shift(row: Row): void {
    this.#countOut(row);
    if (row.box === 'in') row.queue.inbox.shift();
    else if (!row.parked) row.queue.outbox.shift();
  }

  /** Counts a row as settled or gone. With the last row of a message, the message is settled. */
  #countOut(row: Row): void {
    const { queue, progress } = row;
    const { totals } = this;
    if (row.taken) totals.claimed[row.box]--;
    queue.rows.unsettled[row.box].delete(row);
    if (row.box === 'out') {
      totals.bytes -= row.bytes;
      queue.parked?.delete(row);
      this.schedule.stop(row);
    }
    if (--progress.open > 0) return;
    totals.unsettled--;
    totals.bytes -= progress.bytes;
    progress.close();
  }

  /** The end of a row is written: the next row of its side may start. */
  #ended(row: Row): void {
    if (row.box === 'in') row.queue.inBusy = false;
    else if (!row.parked) row.queue.outBusy = false;
    this.#offerNext(row.queue);
  }

  #rest(queue: ConversationQueue): void {
    this.#queues.updateIdle(queue);
    this.#restListener(queue);
  }

  readonly #wakeAll = (): void => {
    const ringing = this.#ringing;
    this.#ringing = this.#rung;
    this.#rung = ringing;
    for (const { channel, isRinging } of ringing) {
      const { in: hasMessages, out: hasReplies } = isRinging;
      isRinging.in = false;
      isRinging.out = false;
      for (const wake of this.#wakes) {
        if (hasMessages) wake('in', channel);
        if (hasReplies) wake('out', channel);
      }
    }
    ringing.length = 0;
  };
}
