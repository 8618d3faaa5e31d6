/**
 * The queues that this instance owns: conversations that it alone works. The working set has their
 * unsettled rows.
 *
 *     free → (taken with a message, or because rows wait) → reading → ready → (quiet) → free
 *
 * A queue is read where it may have rows that this instance does not know. That is so after it was
 * taken, and where the number of a message shows that another instance accepted messages in
 * between. Messages that arrive wait until the read has ended, so that they are worked in the order
 * of their numbers.
 *
 * The file also has `LostQueues`, which frees the queues of dead instances.
 */
import { completionsChannel } from '../../../domain/ids.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import { keyOf } from '../../engine/memories.ts';
import type { OthersRows } from '../../engine/storage.ts';
import { isOf, type ConversationQueue } from '../../engine/queue.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { History } from '../ledger/history.ts';
import type { QueueFacts } from '../write/statement.ts';
import { OwnedQueue, type ArrivedMessage, type QueueGrowth } from './owned-queue.ts';
import type { Reads } from '../deps.ts';
import { RowPages, type QueueName } from './row-pages.ts';

/** This instance remembers this many queues that it released last. */
const releasedMax = 1_000;

export type OwnedQueuesDeps = {
  readonly instance: number;
  readonly rows: WorkingSet;
  readonly history: Pick<History, 'taken' | 'left'>;
  readonly steady: () => SteadyTime;
};

export class OwnedQueues {
  readonly unread = new UnreadQueues();
  readonly #deps: OwnedQueuesDeps;
  readonly #queues = new Map<string, OwnedQueue>();
  /** Queues that may be released, with the time since when, the oldest first. */
  readonly #resting = new Map<OwnedQueue, SteadyTime>();
  /** Some queues are leaving, or were at some time. */
  #hasLeaving = false;
  /** The queues that were released last, each with its epoch at that time. */
  readonly #released = new Map<string, number>();
  /** A queue is being emptied. */
  #isEmptying = false;
  #isClosing = false;
  #keepsParked = false;
  #listener: () => void = () => {};

  constructor(deps: OwnedQueuesDeps) {
    this.#deps = deps;
    deps.rows.onRest((queue) => this.#rowsChanged(queue));
  }

  /** Called when one more queue is to be read or may be released. */
  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  get resting(): ReadonlyMap<OwnedQueue, SteadyTime> {
    return this.#resting;
  }

  get(where: ConversationKey): OwnedQueue | undefined {
    return this.#queues.get(keyOf(where));
  }

  has(queue: OwnedQueue): boolean {
    return this.#queues.get(keyOf(queue)) === queue;
  }

  *[Symbol.iterator](): Generator<OwnedQueue> {
    yield* this.#queues.values();
  }

  /**
   * A message of this instance has landed. It enters the working set once all messages before it in
   * its queue have. Where another instance owns the queue, the message is left to that one.
   */
  arrive(arrived: ArrivedMessage, facts: QueueFacts): void {
    if (facts.owner !== this.#deps.instance) {
      if (this.#isClosing) arrived.enter(arrived.arrival);
      return;
    }
    const { message } = arrived.arrival;
    const queue = this.#ownedBy(message, facts, arrived.n - 1);
    if (!queue.isLeaving) this.#enter(queue, arrived);
  }

  /**
   * Something was put back into the queue, which counts as a message.
   * @returns `next`: nothing else has come before it; `later`: other rows are read first; `theirs`:
   *   another instance owns the queue, or none does
   */
  grew(where: ConversationKey, to: QueueGrowth): 'next' | 'later' | 'theirs' {
    const queue = this.get(where);
    if (to.owner !== this.#deps.instance || queue === undefined || queue.isLeaving) return 'theirs';
    if (queue.unread !== 'nothing' || to.tail !== queue.tail + 1) {
      if (to.tail > queue.upTo)
        this.read(queue, queue.unread === 'all' ? 'all' : 'messages', to.tail);
      return 'later';
    }
    queue.tail = to.tail;
    queue.upTo = to.tail;
    this.#resting.delete(queue);
    return 'next';
  }

  /** @param tail the queue's newest number, read lately: unknown messages are read */
  mayHaveGrown(queue: OwnedQueue, tail: number): void {
    if (!this.has(queue) || queue.isLeaving || queue.unread !== 'nothing') return;
    if (tail > queue.upTo) this.read(queue, 'messages', tail);
  }

  /** This instance has taken the queue because rows wait in it. @param tail its newest number */
  take(where: ConversationKey, epoch: number, tail: number): void {
    if (this.get(where)?.epoch === epoch) return;
    const queue = this.#begin(where, epoch, 0);
    if (this.#isClosing) this.#resting.set(queue, this.#deps.steady());
    else this.read(queue, 'all', tail);
  }

  /** Marks a queue that may have unknown rows as unread. @param upTo its newest known number */
  read(queue: OwnedQueue, what: 'messages' | 'all', upTo: number): void {
    queue.unread = what;
    queue.upTo = Math.max(queue.upTo, upTo);
    this.#resting.delete(queue);
    this.unread.add(queue);
    this.#listener();
  }

  /**
   * A read has entered all rows up to a number. Messages that came meanwhile follow.
   * @param upTo the newest number that was known when the read began, or that the read found
   * @param messages how many unknown messages the read found
   */
  readEnded(queue: OwnedQueue, upTo: number, messages: number): void {
    if (queue.unread === 'all') queue.hasParked = queue.hasOthers = false;
    else if (upTo - queue.tail > messages) queue.hasOthers = true;
    queue.unread = 'nothing';
    queue.tail = Math.max(queue.tail, upTo);
    const arrived = queue.arrived.toSorted((a, b) => a.n - b.n);
    queue.arrived = [];
    for (const one of arrived) this.#enter(queue, one);
    this.#restIfQuiet(queue);
  }

  /** @param keeps whether queues with parked replies stay: no other instance would take them */
  keepParked(keeps: boolean): void {
    if (this.#keepsParked === keeps) return;
    this.#keepsParked = keeps;
    if (!keeps) for (const queue of this.#queues.values()) this.#restIfQuiet(queue);
  }

  /** The queue may be released: nothing of it is in hand. */
  rest(queue: OwnedQueue): void {
    if (!queue.isLeaving && (queue.unread !== 'nothing' || queue.arrived.length > 0)) return;
    if (this.#isKept(queue)) return;
    if (!this.#resting.has(queue)) this.#resting.set(queue, this.#deps.steady());
    this.#listener();
  }

  stopResting(queue: OwnedQueue): void {
    this.#resting.delete(queue);
  }

  /** The queue could not be released. @param tail its newest number: unknown rows are read */
  releaseFailed(queue: OwnedQueue, tail: number): void {
    if (!this.has(queue)) return;
    if (this.#isClosing) {
      queue.isLeaving = true;
      return;
    }
    this.#resting.delete(queue);
    const isMore = tail > queue.upTo;
    // Only a quiet queue is read whole: while a reply is in hand, the answer of the read could
    // still have that reply after it is gone.
    if (!this.#isQuiet(queue)) {
      if (isMore) this.read(queue, 'messages', tail);
    } else if (isMore || queue.hasParked) this.read(queue, 'all', tail);
    else this.rest(queue);
  }

  /** Asked just before a release. @returns false: it must not be released any more */
  mayRelease(queue: OwnedQueue): boolean {
    if (this.#isClosing) return this.has(queue);
    const isRead = queue.isLeaving || (queue.unread === 'nothing' && queue.arrived.length === 0);
    return this.has(queue) && this.#isQuiet(queue) && isRead && !this.#isKept(queue);
  }

  /** The queue is free, or another instance owns it. */
  remove(queue: OwnedQueue): void {
    this.#resting.delete(queue);
    this.unread.delete(queue);
    if (!this.has(queue)) return;
    const key = keyOf(queue);
    this.#queues.delete(key);
    this.#released.delete(key);
    this.#released.set(key, queue.epoch);
    if (this.#released.size > releasedMax)
      this.#released.delete(this.#released.keys().next().value!);
    this.#deps.history.left(queue);
  }

  /**
   * Waiting rows of the queue leave the working set. It is released once the rows in hand have
   * ended. An API request stays: its client waits at this instance.
   */
  startLeaving(queue: OwnedQueue): void {
    if (queue.isLeaving || queue.channel === completionsChannel) return;
    queue.isLeaving = true;
    this.#hasLeaving = true;
    queue.arrived = [];
    this.unread.delete(queue);
    this.#empty(queue);
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** All queues are released as they are; their rows still count here. */
  close(): void {
    this.#isClosing = true;
    this.unread.clear();
    for (const queue of this.#queues.values()) this.#resting.set(queue, this.#deps.steady());
    this.#listener();
  }

  /** Drops landed messages of deleted people or conversations that wait to be entered. */
  forget({ whose, beforeId }: OthersRows): void {
    for (const queue of this.#queues.values()) {
      if (queue.arrived.length === 0) continue;
      queue.arrived = queue.arrived.filter(({ arrival: { message } }) => {
        return message.id >= beforeId || !isOf(whose, message, message.sender.id);
      });
    }
  }

  #enter(queue: OwnedQueue, arrived: ArrivedMessage): void {
    if (arrived.n <= queue.tail) return;
    if (queue.unread === 'nothing' && arrived.n === queue.tail + 1) {
      queue.tail = arrived.n;
      queue.upTo = Math.max(queue.upTo, arrived.n);
      this.#resting.delete(queue);
      arrived.enter(arrived.arrival);
      // The message may have been deleted on its way.
      this.#restIfQuiet(queue);
      return;
    }
    queue.arrived.push(arrived);
    if (queue.unread === 'nothing') this.read(queue, 'messages', arrived.n);
    else queue.upTo = Math.max(queue.upTo, arrived.n);
  }

  #ownedBy(where: ConversationKey, { epoch, waits }: QueueFacts, tail: number): OwnedQueue {
    const known = this.get(where);
    if (known !== undefined && known.epoch === epoch) return known;
    // The queue was released, and that write was lost: others may have left messages in it.
    const isLost = this.#released.get(keyOf(where)) === epoch;
    const mustRead = waits > 0 || isLost;
    const queue = this.#begin(where, epoch, mustRead ? 0 : tail);
    if (mustRead) this.read(queue, 'all', tail);
    return queue;
  }

  #begin(where: ConversationKey, epoch: number, tail: number): OwnedQueue {
    const known = this.get(where);
    if (known !== undefined) this.remove(known);
    const queue = new OwnedQueue(where, epoch, tail);
    this.#queues.set(keyOf(where), queue);
    this.#deps.history.taken(where, epoch);
    return queue;
  }

  #restIfQuiet(queue: OwnedQueue): void {
    if (this.#isQuiet(queue)) this.rest(queue);
  }

  #isQuiet(queue: OwnedQueue): boolean {
    const [known] = this.#deps.rows.queuesOn(queue.channel, queue.conversation);
    return known === undefined || known.isQuiet;
  }

  #isKept(queue: OwnedQueue): boolean {
    if (!this.#keepsParked || queue.isLeaving) return false;
    const [known] = this.#deps.rows.queuesOn(queue.channel, queue.conversation);
    return known !== undefined && known.replies > 0;
  }

  #empty(queue: OwnedQueue): void {
    if (this.#isEmptying) return;
    this.#isEmptying = true;
    this.#deps.rows.remove(queue.channel, queue.conversation, (row) => !row.taken);
    this.#isEmptying = false;
    this.#restIfQuiet(queue);
  }

  #rowsChanged(known: ConversationQueue): void {
    if (this.#isClosing) return;
    if (!known.isQuiet && !this.#hasLeaving) return;
    const queue = this.get(known);
    if (queue === undefined) return;
    if (known.isQuiet) this.rest(queue);
    else if (queue.isLeaving) this.#empty(queue);
  }
}

/** Queues that must be read before messages that arrived in them are worked. */
class UnreadQueues {
  readonly #queues = new Set<OwnedQueue>();
  /** How many are being read. */
  #reading = 0;

  get hasAny(): boolean {
    return this.#queues.size > 0;
  }

  /** How many are to be read, or are being read. */
  get pending(): number {
    return this.#queues.size + this.#reading;
  }

  add(queue: OwnedQueue): void {
    this.#queues.add(queue);
  }

  delete(queue: OwnedQueue): void {
    this.#queues.delete(queue);
  }

  clear(): void {
    this.#queues.clear();
  }

  /** Returns all of them; from now on they count as being read. */
  take(): readonly OwnedQueue[] {
    const queues = [...this.#queues];
    this.#queues.clear();
    this.#reading += queues.length;
    return queues;
  }

  /** All queues that `take` returned were read, or need not be any more. */
  allRead(): void {
    this.#reading = 0;
  }
}

// Finds queues whose owner is dead by their rows, and frees them. Once an instance has died it
// checks all rows. Otherwise it checks a page at each heartbeat, so that no row lies in a queue
// that nobody looks at.

/** One statement frees at most this many queues. */
const queuesMax = 500;

/** $2: parked replies count, too; without it they are found when they are due. */
const isLost = `(lane.owner IS NULL AND lane.waits < 2 AND (seen.runs OR $2))
  OR (lane.owner IS NOT NULL AND NOT EXISTS (
    SELECT FROM svc.instance AS one WHERE one.id = lane.owner AND NOT one.dead
  ))`;

const markCleaned =
  'UPDATE svc.instance SET buried = true WHERE id = ANY($1) AND dead AND NOT buried';

type LostQueuesDeps = {
  readonly reads: Reads;
  /** Whether parked replies must be in hand as well, because there is no other instance. */
  readonly takesParked: () => boolean;
  /** Frees queues. @returns false: some may not be free */
  readonly free: (queues: readonly QueueName[]) => Promise<boolean>;
  /** Records that the dead instances need no further cleanup. */
  readonly write: (text: string, values: readonly unknown[]) => Promise<boolean>;
};

export class LostQueues {
  readonly #deps: LostQueuesDeps;
  readonly #pages: RowPages;
  #check: Promise<void> | null = null;
  /** The dead instances that the newest check is for, and whether it covers all rows. */
  #checkedFor: readonly number[] = [];
  #checksWhole = false;

  constructor(deps: LostQueuesDeps) {
    this.#deps = deps;
    this.#pages = new RowPages(deps.reads, isLost);
  }

  /**
   * Resolves when all queues of the dead instances are free, or cannot be freed now. Never rejects.
   * @param dead instances that are dead, and whose queues may not be free
   * @param isWhole checks all rows; otherwise one page, unless a check is under way
   */
  check(dead: readonly number[], isWhole = dead.length > 0): Promise<void> {
    const before = this.#check;
    const isCovered =
      dead.every((id) => this.#checkedFor.includes(id)) && (!isWhole || this.#checksWhole);
    if (before !== null && isCovered) return before;
    this.#checkedFor = dead;
    this.#checksWhole = isWhole;
    const running = (before ?? Promise.resolve())
      .then(async () => void (await (isWhole ? this.#checkAll(dead) : this.#checkPage())))
      .catch(() => {})
      .finally(() => {
        if (this.#check === running) this.#check = null;
      });
    this.#check = running;
    return running;
  }

  async #checkAll(dead: readonly number[]): Promise<void> {
    this.#pages.begin();
    let areFreed = true;
    for (let isOver = false; !isOver;) {
      const page = await this.#checkPage();
      areFreed &&= page.areFreed;
      isOver = page.isLast;
    }
    if (areFreed && dead.length > 0) await this.#deps.write(markCleaned, [dead]);
  }

  async #checkPage(): Promise<{ readonly isLast: boolean; readonly areFreed: boolean }> {
    const { free, takesParked } = this.#deps;
    const { queues, isLast } = await this.#pages.next(takesParked());
    let areFreed = true;
    for (let from = 0; from < queues.length; from += queuesMax) {
      if (!(await free(queues.slice(from, from + queuesMax)))) areFreed = false;
    }
    return { isLast, areFreed };
  }
}
