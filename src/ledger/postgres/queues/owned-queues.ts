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
import type { Lane } from '../../engine/order/rows.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { History } from '../ledger/history.ts';
import type { LaneFacts } from '../write/writes.ts';
import { OwnedLane, type Arrived, type LaneGrowth } from './owned-queue.ts';
import { UnreadLanes } from './unread-queues.ts';

/** Of so many lanes that were let go it is known which. */
const leftMax = 1_000;

export type OwnedLanesParts = {
  readonly instance: number;
  readonly rows: WorkingSet;
  readonly history: Pick<History, 'taken' | 'left'>;
  readonly steady: () => SteadyTime;
};

export class OwnedLanes {
  readonly unread = new UnreadLanes();
  readonly #parts: OwnedLanesParts;
  readonly #lanes = new Map<string, OwnedLane>();
  /** Those that may be let go, and since when, the oldest first. */
  readonly #resting = new Map<OwnedLane, SteadyTime>();
  /** Some are leaving, or were once. */
  #hasLeaving = false;
  /** Those that were let go last, and how often each was taken by then. */
  readonly #left = new Map<string, number>();
  /** One is being emptied. */
  #emptying = false;
  #isClosing = false;
  #keepsParked = false;
  #changed: () => void = () => {};

  constructor(parts: OwnedLanesParts) {
    this.#parts = parts;
    parts.rows.onRest((lane) => this.#changedIn(lane));
  }

  /** Is told when there is a lane more to be read, or to be let go. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  get resting(): ReadonlyMap<OwnedLane, SteadyTime> {
    return this.#resting;
  }

  get(where: Where): OwnedLane | undefined {
    return this.#lanes.get(keyOf(where));
  }

  has(lane: OwnedLane): boolean {
    return this.#lanes.get(keyOf(lane)) === lane;
  }

  *[Symbol.iterator](): Generator<OwnedLane> {
    yield* this.#lanes.values();
  }

  /**
   * A message of this instance has landed. It is entered once all before it in its lane are; where
   * the lane is another's it is left to that one.
   */
  arrive(arrived: Arrived, facts: LaneFacts): void {
    if (facts.owner !== this.#parts.instance) {
      if (this.#isClosing) arrived.enter(arrived.arrival);
      return;
    }
    const { message } = arrived.arrival;
    const lane = this.#ownedBy(message, facts, arrived.n - 1);
    if (!lane.isLeaving) this.#enter(lane, arrived);
  }

  /**
   * Something was put back into it, which counts as a message.
   * @returns `next`: nothing else has come before it; `later`: that is read first; `theirs`: the
   *   lane is another's, or free
   */
  grew(where: Where, to: LaneGrowth): 'next' | 'later' | 'theirs' {
    const lane = this.get(where);
    if (to.owner !== this.#parts.instance || lane === undefined || lane.isLeaving) return 'theirs';
    if (lane.unread !== 'nothing' || to.tail !== lane.tail + 1) {
      if (to.tail > lane.upTo) this.read(lane, lane.unread === 'all' ? 'all' : 'messages', to.tail);
      return 'later';
    }
    lane.tail = to.tail;
    lane.upTo = to.tail;
    this.#resting.delete(lane);
    return 'next';
  }

  /** @param tail its newest number, as it was lately: what is not known here is read */
  mayHaveGrown(lane: OwnedLane, tail: number): void {
    if (!this.has(lane) || lane.isLeaving || lane.unread !== 'nothing') return;
    if (tail > lane.upTo) this.read(lane, 'messages', tail);
  }

  /** It was taken since rows wait in it. @param tail its newest number */
  take(where: Where, epoch: number, tail: number): void {
    if (this.get(where)?.epoch === epoch) return;
    const lane = this.#begin(where, epoch, 0);
    if (this.#isClosing) this.#resting.set(lane, this.#parts.steady());
    else this.read(lane, 'all', tail);
  }

  /** There may be rows that are not known here. @param upTo the newest number that is known of */
  read(lane: OwnedLane, what: 'messages' | 'all', upTo: number): void {
    lane.unread = what;
    lane.upTo = Math.max(lane.upTo, upTo);
    this.#resting.delete(lane);
    this.unread.add(lane);
    this.#changed();
  }

  /**
   * All up to a number has been entered. What came meanwhile follows.
   * @param upTo what was known of when the read began, or was found by it
   * @param messages how many were found behind those that were known
   */
  wasRead(lane: OwnedLane, upTo: number, messages: number): void {
    if (lane.unread === 'all') lane.hasParked = lane.hasOthers = false;
    else if (upTo - lane.tail > messages) lane.hasOthers = true;
    lane.unread = 'nothing';
    lane.tail = Math.max(lane.tail, upTo);
    const arrived = lane.arrived.toSorted((a, b) => a.n - b.n);
    lane.arrived = [];
    for (const one of arrived) this.#enter(lane, one);
    this.#restIfQuiet(lane);
  }

  /** @param keeps lanes stay as long as parked replies lie in them: nobody else would take those */
  keepParked(keeps: boolean): void {
    if (this.#keepsParked === keeps) return;
    this.#keepsParked = keeps;
    if (!keeps) for (const lane of this.#lanes.values()) this.#restIfQuiet(lane);
  }

  /** It may be let go: nothing of it is in hand. */
  rest(lane: OwnedLane): void {
    if (!lane.isLeaving && (lane.unread !== 'nothing' || lane.arrived.length > 0)) return;
    if (this.#isKept(lane)) return;
    if (!this.#resting.has(lane)) this.#resting.set(lane, this.#parts.steady());
    this.#changed();
  }

  restsNoMore(lane: OwnedLane): void {
    this.#resting.delete(lane);
  }

  /** It could not be let go. @param tail its newest number: what is not known here is read */
  stays(lane: OwnedLane, tail: number): void {
    if (!this.has(lane)) return;
    if (this.#isClosing) {
      lane.isLeaving = true;
      return;
    }
    this.#resting.delete(lane);
    const isMore = tail > lane.upTo;
    // A reply that is in hand may be gone before the answer comes, which still has it.
    if (!this.#isQuiet(lane)) {
      if (isMore) this.read(lane, 'messages', tail);
    } else if (isMore || lane.hasParked) this.read(lane, 'all', tail);
    else this.rest(lane);
  }

  /** It is being let go. @returns false: it is no longer to be */
  mayGo(lane: OwnedLane): boolean {
    if (this.#isClosing) return this.has(lane);
    const isRead = lane.isLeaving || (lane.unread === 'nothing' && lane.arrived.length === 0);
    return this.has(lane) && this.#isQuiet(lane) && isRead && !this.#isKept(lane);
  }

  /** It is free, or another's. */
  gone(lane: OwnedLane): void {
    this.#resting.delete(lane);
    this.unread.delete(lane);
    if (!this.has(lane)) return;
    const key = keyOf(lane);
    this.#lanes.delete(key);
    this.#left.delete(key);
    this.#left.set(key, lane.epoch);
    if (this.#left.size > leftMax) this.#left.delete(this.#left.keys().next().value!);
    this.#parts.history.left(lane);
  }

  /** What waits in it leaves the working set; it is let go once what is in hand has ended. */
  leave(lane: OwnedLane): void {
    if (lane.isLeaving) return;
    lane.isLeaving = true;
    this.#hasLeaving = true;
    lane.arrived = [];
    this.unread.delete(lane);
    this.#empty(lane);
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** All are let go as they are; what lies in them is counted on here. */
  close(): void {
    this.#isClosing = true;
    this.unread.clear();
    for (const lane of this.#lanes.values()) this.#resting.set(lane, this.#parts.steady());
    this.#changed();
  }

  /** Messages of theirs that have landed and wait to be entered are not wanted any more. */
  forget({ whose, beforeId }: Theirs): void {
    for (const lane of this.#lanes.values()) {
      if (lane.arrived.length === 0) continue;
      lane.arrived = lane.arrived.filter(({ arrival: { message } }) => {
        return message.id >= beforeId || !isOf(whose, message, message.sender.id);
      });
    }
  }

  #enter(lane: OwnedLane, arrived: Arrived): void {
    if (arrived.n <= lane.tail) return;
    if (lane.unread === 'nothing' && arrived.n === lane.tail + 1) {
      lane.tail = arrived.n;
      lane.upTo = Math.max(lane.upTo, arrived.n);
      this.#resting.delete(lane);
      arrived.enter(arrived.arrival);
      // It was forgotten on its way.
      this.#restIfQuiet(lane);
      return;
    }
    lane.arrived.push(arrived);
    if (lane.unread === 'nothing') this.read(lane, 'messages', arrived.n);
    else lane.upTo = Math.max(lane.upTo, arrived.n);
  }

  #ownedBy(where: Where, { epoch, waits }: LaneFacts, tail: number): OwnedLane {
    const known = this.get(where);
    if (known !== undefined && known.epoch === epoch) return known;
    // It was let go, and that was lost: others may have left messages in it.
    const isLost = this.#left.get(keyOf(where)) === epoch;
    const isRead = waits > 0 || isLost;
    const lane = this.#begin(where, epoch, isRead ? 0 : tail);
    if (isRead) this.read(lane, 'all', tail);
    return lane;
  }

  #begin(where: Where, epoch: number, tail: number): OwnedLane {
    const known = this.get(where);
    if (known !== undefined) this.gone(known);
    const lane = new OwnedLane(where, epoch, tail);
    this.#lanes.set(keyOf(where), lane);
    this.#parts.history.taken(where, epoch);
    return lane;
  }

  #restIfQuiet(lane: OwnedLane): void {
    if (this.#isQuiet(lane)) this.rest(lane);
  }

  #isQuiet(lane: OwnedLane): boolean {
    const [known] = this.#parts.rows.lanesOn(lane.channel, lane.conversation);
    return known === undefined || known.isQuiet;
  }

  #isKept(lane: OwnedLane): boolean {
    if (!this.#keepsParked || lane.isLeaving) return false;
    const [known] = this.#parts.rows.lanesOn(lane.channel, lane.conversation);
    return known !== undefined && known.replies > 0;
  }

  #empty(lane: OwnedLane): void {
    if (this.#emptying) return;
    this.#emptying = true;
    this.#parts.rows.remove(lane.channel, lane.conversation, (row) => !row.taken);
    this.#emptying = false;
    this.#restIfQuiet(lane);
  }

  #changedIn(known: Lane): void {
    if (this.#isClosing) return;
    if (!known.isQuiet && !this.#hasLeaving) return;
    const lane = this.get(known);
    if (lane === undefined) return;
    if (known.isQuiet) this.rest(lane);
    else if (lane.isLeaving) this.#empty(lane);
  }
}
