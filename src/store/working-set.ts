/**
 * What every form of the ledger keeps in memory: which row is next in which conversation, what is
 * due when, and how much there is. It knows order and nothing of disks.
 *
 * A row is offered (put into the ready queue of its box and channel) when it is the head of its
 * lane and nothing of that lane is under way. A parked reply has left its lane and is offered by
 * itself when it is due. Whoever takes a row ends it by settle, giveBack or postpone.
 */
import type { Box } from '../domain/event.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { Message } from '../domain/message.ts';
import type { Reply } from '../domain/reply.ts';
import { createDeadlines, type Deadlines } from '../lib/deadlines.ts';
import { Lanes } from './lanes.ts';
import { Settlement, type InRow, type OutRow, type Row, type Lane } from './rows.ts';
import { Sides } from './sides.ts';
import type { ChannelBacklog, Gauges } from './store.ts';
import { bytesOfMessage, bytesOfReply } from './weight.ts';

/** With so many unsettled replies a conversation's inbox waits. */
const repliesMax = 100;

export class WorkingSet {
  readonly #lanes = new Lanes();
  readonly #sides = new Sides();
  readonly #deadlines: Deadlines;
  readonly #claimed = { in: 0, out: 0 };
  #deferred = 0;
  /** Messages not settled, with their replies, and their bytes. */
  unsettled = 0;
  bytes = 0;
  /** Late replies, which stand in no lane, until they are settled. */
  readonly #parked = new Set<OutRow>();
  #seq = 0;
  #closed = false;
  #restoring = false;

  constructor(now: () => number) {
    this.#deadlines = createDeadlines(now);
  }

  /** The order of acceptance, over all conversations. */
  nextSeq(): number {
    return ++this.#seq;
  }

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#sides.onReady(wake);
  }

  addMessage(message: Message, seq = this.nextSeq(), attempt = 1): InRow {
    const lane = this.#lanes.of(message.channel, message.conversation);
    const settlement = new Settlement(bytesOfMessage(message));
    const row: InRow = { box: 'in', seq, lane, message, settlement, attempt };
    this.#seq = Math.max(this.#seq, seq);
    this.unsettled++;
    this.bytes += settlement.bytes;
    this.#sides.count('in', message.channel, 1);
    lane.inbox.push(row);
    this.#offerInbox(lane);
    return row;
  }

  /** @param of what it is a reply to; null when that is not known any more (after a restart) */
  addReply(reply: Reply, of: Settlement | null, seq = this.nextSeq()): OutRow {
    const row = this.#makeReply(reply, of, seq);
    row.lane.outbox.push(row);
    this.#offerOutbox(row.lane);
    return row;
  }

  take(box: 'in', channel: ChannelKey): InRow | undefined;
  take(box: 'out', channel: ChannelKey): OutRow | undefined;
  take(box: Box, channel: ChannelKey): Row | undefined {
    if (this.#closed) return undefined;
    const row = this.#sides.take(box, channel);
    if (row !== undefined) this.#claimed[box]++;
    return row;
  }

  /**
   * The row is done with, whether well or as a dead letter; the next of its lane may start.
   * @param parts what lies behind it in the lane and ends with it
   */
  settle(row: Row, parts: readonly OutRow[] = []): void {
    const { lane } = row;
    this.#claimed[row.box]--;
    if (row.box === 'in') {
      this.#sides.count('in', lane.channel, -1);
      lane.inbox.shift();
      lane.inBusy = false;
      this.#leave(row.settlement);
    } else {
      this.#drop(row);
      for (const part of parts) this.#drop(part);
      if (!row.parked) {
        lane.outBusy = false;
        this.#offerOutbox(lane);
      }
    }
    this.#offerInbox(lane);
    this.#lanes.rest(lane);
  }

  /** Given back untouched: first in its lane, and first to be taken again. */
  giveBack(row: Row): void {
    this.#claimed[row.box]--;
    this.#sides.offerFirst(row);
  }

  /** To be offered again at `at`; a parked reply leaves its lane. */
  postpone(row: OutRow, at: number, park: boolean): void {
    this.#claimed.out--;
    const { lane } = row;
    if (park && !row.parked) {
      row.late = true;
      row.parked = true;
      this.#parked.add(row);
      lane.outbox.shift();
      lane.outBusy = false;
      this.#offerOutbox(lane);
    }
    this.#await(row, at);
  }

  /**
   * After a restart: a reply as it was when it was last written down.
   * @param state `dueAt` is when it is to be tried again; null: it waits its turn
   */
  restoreReply(
    reply: Reply,
    of: Settlement | null,
    seq: number,
    state: {
      readonly attempt: number;
      readonly possibleDuplicate: boolean;
      readonly replayedAfter: number;
      readonly late: boolean;
      readonly parked: boolean;
      readonly dueAt: number | null;
    },
  ): OutRow {
    const row = this.#makeReply(reply, of, seq);
    const { lane } = row;
    row.attempt = state.attempt;
    row.possibleDuplicate = state.possibleDuplicate;
    row.replayedAfter = state.replayedAfter;
    row.late = state.late;
    row.parked = state.parked;
    if (row.parked) {
      this.#parked.add(row);
      this.#await(row, state.dueAt ?? 0);
      return row;
    }
    lane.outbox.push(row);
    if (state.dueAt === null || lane.outBusy) {
      this.#offerOutbox(lane);
    } else {
      lane.outBusy = true;
      this.#await(row, state.dueAt);
    }
    return row;
  }

  /** From now on rows of before are put back: a message is offered when all replies are there. */
  restore(): void {
    this.#restoring = true;
  }

  restored(): void {
    this.#restoring = false;
    for (const lane of this.#lanes) this.#offerInbox(lane);
  }

  /** The last number ever given, so that new rows come after all old ones. */
  startAfter(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
  }

  idsOfUnsettled(most: number): readonly string[] {
    const ids: string[] = [];
    for (const { inbox, outbox } of this.#lanes) {
      for (let i = 0; i < inbox.length; i++) ids.push(inbox.at(i)!.message.id);
      for (let i = 0; i < outbox.length; i++) ids.push(outbox.at(i)!.reply.id);
      if (ids.length >= most) break;
    }
    for (const { reply } of this.#parked) ids.push(reply.id);
    return ids.slice(0, most);
  }

  gauges(): Omit<
    Gauges,
    | 'deadLetters'
    | 'bytesMax'
    | 'messagesMax'
    | 'rememberedBytes'
    | 'commitsPending'
    | 'unroutable'
    | 'suspects'
    | 'tracesDropped'
  > {
    return {
      inboxWaiting: this.#waiting('in'),
      inboxClaimed: this.#claimed.in,
      outboxWaiting: this.#waiting('out'),
      outboxClaimed: this.#claimed.out,
      outboxDeferred: this.#deferred,
      bytesHeld: this.bytes,
      conversationsAtWork: this.#lanes.busy,
    };
  }

  #waiting(box: Box): number {
    const rows = this.#sides.unsettled(box) - this.#claimed[box];
    return box === 'in' ? rows : rows - this.#deferred;
  }

  backlog(): readonly ChannelBacklog[] {
    return this.#sides.backlog();
  }

  /** Drops every timer; nothing is offered after it. */
  close(): void {
    this.#closed = true;
    this.#sides.close();
    for (const lane of this.#lanes) lane.outbox.peek()?.due?.cancel();
    for (const row of this.#parked) row.due?.cancel();
  }

  #makeReply(reply: Reply, of: Settlement | null, seq: number): OutRow {
    const lane = this.#lanes.of(reply.address.channel, reply.conversation);
    const settlement = of ?? new Settlement(0);
    if (of === null) this.unsettled++;
    else of.open++;
    const bytes = bytesOfReply(reply);
    this.#seq = Math.max(this.#seq, seq);
    this.bytes += bytes;
    this.#sides.count('out', reply.address.channel, 1);
    lane.replies++;
    return {
      box: 'out',
      seq,
      lane,
      reply,
      bytes,
      settlement,
      attempt: 1,
      replayedAfter: 0,
      possibleDuplicate: false,
      late: false,
      parked: false,
      takenAt: 0,
      due: null,
    };
  }

  #await(row: OutRow, at: number): void {
    this.#deferred++;
    row.due = this.#deadlines.at(at, () => {
      row.due = null;
      this.#deferred--;
      this.#sides.offer(row);
    });
  }

  #offerInbox(lane: Lane): void {
    const head = lane.inbox.peek();
    if (head === undefined || lane.inBusy || this.#restoring) return;
    if (lane.replies >= repliesMax) return;
    lane.inBusy = true;
    this.#sides.offer(head);
  }

  #offerOutbox(lane: Lane): void {
    const head = lane.outbox.peek();
    if (head === undefined || lane.outBusy) return;
    lane.outBusy = true;
    this.#sides.offer(head);
  }

  #drop(row: OutRow): void {
    const { lane } = row;
    this.#sides.count('out', lane.channel, -1);
    lane.replies--;
    this.bytes -= row.bytes;
    if (row.parked) this.#parked.delete(row);
    else lane.outbox.shift();
    this.#leave(row.settlement);
  }

  #leave(settlement: Settlement): void {
    if (--settlement.open > 0) return;
    this.unsettled--;
    this.bytes -= settlement.bytes;
    settlement.close();
  }
}
