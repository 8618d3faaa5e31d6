/**
 * The lanes that this instance has: conversations that it alone works. What of them is unsettled
 * stands in the working set.
 *
 *     free → (taken with a message, or because rows wait) → reading → ready → (quiet) → free
 *
 * A lane is read where rows may lie in it that this instance does not know: after it was taken, and
 * where the number of a message shows that others came between, which another instance accepted.
 * Until then what comes into it waits, so that messages are worked in the order of their numbers.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import { keyOf, type Where } from '../../engine/memories.ts';
import type { Theirs } from '../../engine/storage.ts';
import { isOf } from '../../engine/order/removal.ts';
import type { ConversationQueue } from '../../engine/order/rows.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { History } from '../ledger/history.ts';
import type { QueueFacts } from '../write/statement.ts';
import { OwnedQueue, type Arrived, type QueueGrowth } from './owned-queue.ts';
import type { Reads } from '../deps.ts';
import { RowPages, type QueueName } from './row-pages.ts';

/** Of so many lanes that were let go it is known which. */
const leftMax = 1_000;

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
  /** Those that may be let go, and since when, the oldest first. */
  readonly #resting = new Map<OwnedQueue, SteadyTime>();
  /** Some are leaving, or were once. */
  #hasLeaving = false;
  /** Those that were let go last, and how often each was taken by then. */
  readonly #left = new Map<string, number>();
  /** One is being emptied. */
  #emptying = false;
  #isClosing = false;
  #keepsParked = false;
  #changed: () => void = () => {};

  constructor(deps: OwnedQueuesDeps) {
    this.#deps = deps;
    deps.rows.onRest((queue) => this.#changedIn(queue));
  }

  /** Is told when there is a lane more to be read, or to be let go. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  get resting(): ReadonlyMap<OwnedQueue, SteadyTime> {
    return this.#resting;
  }

  get(where: Where): OwnedQueue | undefined {
    return this.#queues.get(keyOf(where));
  }

  has(queue: OwnedQueue): boolean {
    return this.#queues.get(keyOf(queue)) === queue;
  }

  *[Symbol.iterator](): Generator<OwnedQueue> {
    yield* this.#queues.values();
  }

  /**
   * A message of this instance has landed. It is entered once all before it in its lane are; where
   * the lane is another's it is left to that one.
   */
  arrive(arrived: Arrived, facts: QueueFacts): void {
    if (facts.owner !== this.#deps.instance) {
      if (this.#isClosing) arrived.enter(arrived.arrival);
      return;
    }
    const { message } = arrived.arrival;
    const queue = this.#ownedBy(message, facts, arrived.n - 1);
    if (!queue.isLeaving) this.#enter(queue, arrived);
  }

  /**
   * Something was put back into it, which counts as a message.
   * @returns `next`: nothing else has come before it; `later`: that is read first; `theirs`: the
   *   lane is another's, or free
   */
  grew(where: Where, to: QueueGrowth): 'next' | 'later' | 'theirs' {
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

  /** @param tail its newest number, as it was lately: what is not known here is read */
  mayHaveGrown(queue: OwnedQueue, tail: number): void {
    if (!this.has(queue) || queue.isLeaving || queue.unread !== 'nothing') return;
    if (tail > queue.upTo) this.read(queue, 'messages', tail);
  }

  /** It was taken since rows wait in it. @param tail its newest number */
  take(where: Where, epoch: number, tail: number): void {
    if (this.get(where)?.epoch === epoch) return;
    const queue = this.#begin(where, epoch, 0);
    if (this.#isClosing) this.#resting.set(queue, this.#deps.steady());
    else this.read(queue, 'all', tail);
  }

  /** There may be rows that are not known here. @param upTo the newest number that is known of */
  read(queue: OwnedQueue, what: 'messages' | 'all', upTo: number): void {
    queue.unread = what;
    queue.upTo = Math.max(queue.upTo, upTo);
    this.#resting.delete(queue);
    this.unread.add(queue);
    this.#changed();
  }

  /**
   * All up to a number has been entered. What came meanwhile follows.
   * @param upTo what was known of when the read began, or was found by it
   * @param messages how many were found behind those that were known
   */
  wasRead(queue: OwnedQueue, upTo: number, messages: number): void {
    if (queue.unread === 'all') queue.hasParked = queue.hasOthers = false;
    else if (upTo - queue.tail > messages) queue.hasOthers = true;
    queue.unread = 'nothing';
    queue.tail = Math.max(queue.tail, upTo);
    const arrived = queue.arrived.toSorted((a, b) => a.n - b.n);
    queue.arrived = [];
    for (const one of arrived) this.#enter(queue, one);
    this.#restIfQuiet(queue);
  }

  /** @param keeps lanes stay as long as parked replies lie in them: nobody else would take those */
  keepParked(keeps: boolean): void {
    if (this.#keepsParked === keeps) return;
    this.#keepsParked = keeps;
    if (!keeps) for (const queue of this.#queues.values()) this.#restIfQuiet(queue);
  }

  /** It may be let go: nothing of it is in hand. */
  rest(queue: OwnedQueue): void {
    if (!queue.isLeaving && (queue.unread !== 'nothing' || queue.arrived.length > 0)) return;
    if (this.#isKept(queue)) return;
    if (!this.#resting.has(queue)) this.#resting.set(queue, this.#deps.steady());
    this.#changed();
  }

  restsNoMore(queue: OwnedQueue): void {
    this.#resting.delete(queue);
  }

  /** It could not be let go. @param tail its newest number: what is not known here is read */
  stays(queue: OwnedQueue, tail: number): void {
    if (!this.has(queue)) return;
    if (this.#isClosing) {
      queue.isLeaving = true;
      return;
    }
    this.#resting.delete(queue);
    const isMore = tail > queue.upTo;
    // A reply that is in hand may be gone before the answer comes, which still has it.
    if (!this.#isQuiet(queue)) {
      if (isMore) this.read(queue, 'messages', tail);
    } else if (isMore || queue.hasParked) this.read(queue, 'all', tail);
    else this.rest(queue);
  }

  /** It is being let go. @returns false: it is no longer to be */
  mayGo(queue: OwnedQueue): boolean {
    if (this.#isClosing) return this.has(queue);
    const isRead = queue.isLeaving || (queue.unread === 'nothing' && queue.arrived.length === 0);
    return this.has(queue) && this.#isQuiet(queue) && isRead && !this.#isKept(queue);
  }

  /** It is free, or another's. */
  gone(queue: OwnedQueue): void {
    this.#resting.delete(queue);
    this.unread.delete(queue);
    if (!this.has(queue)) return;
    const key = keyOf(queue);
    this.#queues.delete(key);
    this.#left.delete(key);
    this.#left.set(key, queue.epoch);
    if (this.#left.size > leftMax) this.#left.delete(this.#left.keys().next().value!);
    this.#deps.history.left(queue);
  }

  /** What waits in it leaves the working set; it is let go once what is in hand has ended. */
  leave(queue: OwnedQueue): void {
    if (queue.isLeaving) return;
    queue.isLeaving = true;
    this.#hasLeaving = true;
    queue.arrived = [];
    this.unread.delete(queue);
    this.#empty(queue);
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** All are let go as they are; what lies in them is counted on here. */
  close(): void {
    this.#isClosing = true;
    this.unread.clear();
    for (const queue of this.#queues.values()) this.#resting.set(queue, this.#deps.steady());
    this.#changed();
  }

  /** Messages of theirs that have landed and wait to be entered are not wanted any more. */
  forget({ whose, beforeId }: Theirs): void {
    for (const queue of this.#queues.values()) {
      if (queue.arrived.length === 0) continue;
      queue.arrived = queue.arrived.filter(({ arrival: { message } }) => {
        return message.id >= beforeId || !isOf(whose, message, message.sender.id);
      });
    }
  }

  #enter(queue: OwnedQueue, arrived: Arrived): void {
    if (arrived.n <= queue.tail) return;
    if (queue.unread === 'nothing' && arrived.n === queue.tail + 1) {
      queue.tail = arrived.n;
      queue.upTo = Math.max(queue.upTo, arrived.n);
      this.#resting.delete(queue);
      arrived.enter(arrived.arrival);
      // It was forgotten on its way.
      this.#restIfQuiet(queue);
      return;
    }
    queue.arrived.push(arrived);
    if (queue.unread === 'nothing') this.read(queue, 'messages', arrived.n);
    else queue.upTo = Math.max(queue.upTo, arrived.n);
  }

  #ownedBy(where: Where, { epoch, waits }: QueueFacts, tail: number): OwnedQueue {
    const known = this.get(where);
    if (known !== undefined && known.epoch === epoch) return known;
    // It was let go, and that was lost: others may have left messages in it.
    const isLost = this.#left.get(keyOf(where)) === epoch;
    const isRead = waits > 0 || isLost;
    const queue = this.#begin(where, epoch, isRead ? 0 : tail);
    if (isRead) this.read(queue, 'all', tail);
    return queue;
  }

  #begin(where: Where, epoch: number, tail: number): OwnedQueue {
    const known = this.get(where);
    if (known !== undefined) this.gone(known);
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
    if (this.#emptying) return;
    this.#emptying = true;
    this.#deps.rows.remove(queue.channel, queue.conversation, (row) => !row.taken);
    this.#emptying = false;
    this.#restIfQuiet(queue);
  }

  #changedIn(known: ConversationQueue): void {
    if (this.#isClosing) return;
    if (!known.isQuiet && !this.#hasLeaving) return;
    const queue = this.get(known);
    if (queue === undefined) return;
    if (known.isQuiet) this.rest(queue);
    else if (queue.isLeaving) this.#empty(queue);
  }
}

/** Lanes that are to be read before what has come into them is worked. */
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

  /** All of them; from now on they count as being read. */
  take(): readonly OwnedQueue[] {
    const queues = [...this.#queues];
    this.#queues.clear();
    this.#reading += queues.length;
    return queues;
  }

  /** Whatever was taken was read, or is not to be any more. */
  allRead(): void {
    this.#reading = 0;
  }
}

// Finds lanes whose owner is no more, by the rows that lie in them, and makes them free. Once an
// instance has died all rows are looked through; else a page at each beat, so that nothing lies
// where nobody looks.

/** So many lanes are made free in one go. */
const queuesMax = 500;

/** $2: parked replies count, too; else they are found when they are due. */
const lostQueuesIsLost = `(lane.owner IS NULL AND lane.waits < 2 AND (seen.runs OR $2))
  OR (lane.owner IS NOT NULL AND NOT EXISTS (
    SELECT FROM svc.instance AS one WHERE one.id = lane.owner AND NOT one.dead
  ))`;

const buried = 'UPDATE svc.instance SET buried = true WHERE id = ANY($1) AND dead AND NOT buried';

type LostQueuesDeps = {
  readonly reads: Reads;
  /** Whether parked replies are to be in hand as well: there is nobody else. */
  readonly takesParked: () => boolean;
  /** Makes lanes free. @returns false: it is not known whether they are */
  readonly free: (queues: readonly QueueName[]) => Promise<boolean>;
  /** Writes down that they are over. */
  readonly write: (text: string, values: readonly unknown[]) => Promise<boolean>;
};

export class LostQueues {
  readonly #deps: LostQueuesDeps;
  readonly #pages: RowPages;
  #looking: Promise<void> | null = null;
  /** The dead that the newest look is for, and whether it goes over all rows. */
  #lookedFor: readonly number[] = [];
  #isWhole = false;

  constructor(deps: LostQueuesDeps) {
    this.#deps = deps;
    this.#pages = new RowPages(deps.reads, lostQueuesIsLost);
  }

  /**
   * Resolves when all lanes of the dead are free, or cannot be made so now. Never rejects.
   * @param dead instances that are dead, and whose lanes may not be free
   * @param isWhole all rows are looked at; else a page, unless a look goes on
   */
  look(dead: readonly number[], isWhole = dead.length > 0): Promise<void> {
    const before = this.#looking;
    const isAsked = dead.every((id) => this.#lookedFor.includes(id)) && (!isWhole || this.#isWhole);
    if (before !== null && isAsked) return before;
    this.#lookedFor = dead;
    this.#isWhole = isWhole;
    const looked = (before ?? Promise.resolve())
      .then(async () => void (await (isWhole ? this.#lookAtAll(dead) : this.#next())))
      .catch(() => {})
      .finally(() => {
        if (this.#looking === looked) this.#looking = null;
      });
    this.#looking = looked;
    return looked;
  }

  async #lookAtAll(dead: readonly number[]): Promise<void> {
    this.#pages.begin();
    let isSound = true;
    for (let isOver = false; !isOver;) {
      const seen = await this.#next();
      isSound &&= seen.isSound;
      isOver = seen.isLast;
    }
    if (isSound && dead.length > 0) await this.#deps.write(buried, [dead]);
  }

  async #next(): Promise<{ readonly isLast: boolean; readonly isSound: boolean }> {
    const { free, takesParked } = this.#deps;
    const { queues, isLast } = await this.#pages.next(takesParked());
    let isSound = true;
    for (let from = 0; from < queues.length; from += queuesMax) {
      if (!(await free(queues.slice(from, from + queuesMax)))) isSound = false;
    }
    return { isLast, isSound };
  }
}
