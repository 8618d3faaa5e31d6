/**
 * What every form of the ledger keeps in memory: which row is next in which conversation, what is
 * due when, and how much there is. It knows order and nothing of disks.
 *
 * A row is offered (put into the ready queue of its box and channel) when it is the head of its
 * lane and nothing of that lane is under way. A parked reply has left its lane and is offered by
 * itself when it is due. Whoever takes a row ends it by settle, giveBack or postpone.
 */
import type { Box } from '../../../domain/event.ts';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { Reply } from '../../../domain/reply.ts';
import { Totals } from './totals.ts';
import { Queues } from './queues.ts';
import { TakenOverQueues } from './taken-over-queues.ts';
import { Leaving } from './leaving.ts';
import { DelayQueue } from './delay-queue.ts';
import { Gathering, type GatheringClock } from './merging.ts';
import { Offering } from './offering.ts';
import { makeInRow, makeOutRow, MessageProgress } from './rows.ts';
import type {
  InRow,
  ConversationQueue,
  OutRow,
  OutState,
  Row,
  StoredMessage,
  StoredReply,
} from './rows.ts';
import { ReadyQueues } from './ready-queues.ts';
import type { ChannelBacklog } from '../../ledger.ts';
import { messageRow, replyRow } from './weight.ts';

export class WorkingSet {
  readonly #queues = new Queues();
  readonly ready = new ReadyQueues();
  readonly delayed: DelayQueue;
  readonly totals = new Totals();
  readonly #gathering: Gathering;
  readonly leaving: Leaving;
  readonly #offering: Offering;
  readonly byHand: TakenOverQueues;
  #seq = 0;
  #closed = false;

  constructor(clock: GatheringClock) {
    const { ready } = this;
    this.delayed = new DelayQueue(clock, (row) => ready.offer(row));
    this.#gathering = new Gathering(clock, (row) => ready.offer(row));
    this.leaving = new Leaving(this.totals, ready, this.delayed);
    this.#offering = new Offering(ready, this.#queues, this.#gathering);
    this.byHand = new TakenOverQueues(this.#queues, ready, this.#offering);
  }

  /** The order of acceptance, over all conversations. */
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

  /** Is told of a lane each time that something in it has ended, or was given back. */
  onRest(rested: (queue: ConversationQueue) => void): void {
    this.#offering.onRest(rested);
  }

  /** Rows are to be put back into it: none of its messages is offered until it goes on. */
  hold(channel: ChannelKey, conversation: ConversationId): ConversationQueue {
    const queue = this.#queues.of(channel, conversation);
    queue.inBusy = true;
    return queue;
  }

  /** @param held its first message is not to be offered */
  goOn(queue: ConversationQueue, held = false): void {
    queue.inBusy = held;
    this.#offering.goOn(queue);
  }

  addMessage(message: Message, seq: number): InRow {
    return this.restoreMessage(messageRow(message, seq), message);
  }

  addReply(reply: Reply, of: MessageProgress, seq: number): OutRow {
    const row = this.#makeReply(replyRow(reply, seq), reply, of);
    row.queue.outbox.push(row);
    this.#offering.reply(row.queue);
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

  /** Where more may be one with a message that was taken, it waits. @returns whether it does */
  gatherOn(row: InRow): boolean {
    if (!this.#gathering.waits(row)) return false;
    this.holdAgain(row);
    // It takes the place of another that may be taken.
    this.ready.ring('in', row.queue.channel);
    return true;
  }

  takeHeld(row: InRow): void {
    this.totals.claimed.in++;
    row.taken = true;
    row.historyVersion = row.queue.historyVersion;
  }

  /** A row that was taken is held again. */
  holdAgain(row: InRow): void {
    this.totals.claimed.in--;
    row.taken = false;
  }

  /**
   * The row is done with, whether well or as a dead letter; the next of its lane may start.
   * @param parts what lies behind it in the lane and ends with it
   */
  settle(row: Row, parts: readonly OutRow[] = []): void {
    const { queue } = row;
    if (row.box === 'in') this.leaving.settle(row);
    if (row.gone) return this.#offering.pass(row);
    if (row.box === 'in') queue.inBusy = false;
    else {
      this.totals.claimed.out--;
      this.leaving.drop(row);
      for (const part of parts) this.leaving.drop(part);
      if (!row.parked) {
        queue.outBusy = false;
        this.#offering.reply(queue);
      }
    }
    this.#offering.message(queue);
    this.#offering.rest(queue);
  }

  /** The storage had it no more when it ended: what was joined to it are messages of their own. */
  lost(row: Row): void {
    if (row.box === 'in') this.leaving.part(row);
    this.settle(row);
  }

  /** Given back untouched: first in its lane, and first to be taken again. */
  giveBack(row: Row): void {
    this.totals.claimed[row.box]--;
    row.taken = false;
    if (row.box === 'in') this.leaving.part(row);
    this.#offering.again(row);
  }

  /** To be offered again at `at`; a parked reply leaves its lane. */
  postpone(row: OutRow, at: number, park: boolean): void {
    if (row.gone) return this.#offering.pass(row);
    this.totals.claimed.out--;
    row.taken = false;
    const { queue } = row;
    if (park && !row.parked) {
      this.delayed.park(row);
      queue.outbox.shift();
      queue.outBusy = false;
      this.#offering.reply(queue);
    }
    this.delayed.until(row, at);
    this.#offering.rest(queue);
  }

  /** The lanes of a channel, or the one of a conversation on it, as far as they are known. */
  queuesOn(channel: ChannelKey, conversation: ConversationId | null): readonly ConversationQueue[] {
    return this.#queues.on(channel, conversation);
  }

  /**
   * Takes rows away, wherever they are; claims on them must have been revoked and given back. When
   * the end of a row is on its way to the disk, its lane waits for that.
   * @param conversation null: of all on that channel
   * @returns how many there were
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
      for (const row of rows) this.leaving.vanish(row);
      removed += rows.length;
    }
    for (const row of this.delayed.parked) {
      if (row.queue.channel !== channel || !matches(row)) continue;
      if (conversation !== null && row.queue.conversation !== conversation) continue;
      this.leaving.vanish(row);
      removed++;
    }
    this.ready.forgetGone(channel);
    for (const queue of queues) this.#offering.goOn(queue);
    return removed;
  }

  /** What is remembered of a conversation has changed; a claim on it may have the older memory. */
  outdate(channel: ChannelKey, conversation: ConversationId): void {
    for (const queue of this.#queues.on(channel, conversation)) queue.historyVersion++;
  }

  outdateAll(): void {
    for (const queue of this.#queues) queue.historyVersion++;
  }

  /** After a restart, or dead and back. @param message null: it is read when it is handed out */
  restoreMessage(stored: StoredMessage, message: Message | null = null): InRow {
    const { head, channel, conversation, seq, bytes, sender } = stored;
    const queue = this.#queues.of(channel, conversation);
    // One text in memory for all that one person says, as far as that is easily seen.
    const known = queue.inbox.peek()?.progress.sender;
    const progress = new MessageProgress(bytes, known === sender ? known : sender);
    const row = makeInRow(head, message, queue, progress, seq);
    this.#seq = Math.max(this.#seq, seq);
    this.totals.messageCame(progress);
    this.ready.came(row);
    queue.inbox.push(row);
    this.#offering.message(queue);
    return row;
  }

  /**
   * After a restart, or dead and back: a reply as it was when it was last written down.
   * @param of what it is a reply to; null when that is not known any more
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
      this.#offering.reply(queue);
    } else {
      queue.outBusy = true;
      this.delayed.until(row, dueAt);
    }
    return row;
  }

  /** Whether it stands here already. */
  hasReply({ head, channel, conversation }: StoredReply): boolean {
    const [queue] = this.#queues.on(channel, conversation);
    return queue !== undefined && queue.hasReply(head.id);
  }

  /** @param isRestoring rows of before are being put back: no message is offered until all are */
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

  /** Drops every timer; nothing is offered after it. */
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
    this.totals.replyCame(row, of);
    this.ready.came(row);
    queue.replies++;
    return row;
  }
}
