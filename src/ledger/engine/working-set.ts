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
import { Totals } from './totals.ts';
import { Queues } from './queues.ts';
import { TakenOverQueues } from './taken-over-queues.ts';
import { Leaving } from './leaving.ts';
import { DelayQueue } from './schedule.ts';
import { MergeWaits, type MergeClock } from './merging.ts';
import { Offering } from './offering.ts';
import {
  makeInRow,
  makeOutRow,
  MessageProgress,
  type InRow,
  type ConversationQueue,
  type OutRow,
  type OutState,
  type Row,
  type StoredMessage,
  type StoredReply,
} from './queue.ts';
import { ReadyQueues } from './ready-queues.ts';
import type { ChannelBacklog } from '../ledger.ts';
import { messageRow, replyRow } from './weight.ts';

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
