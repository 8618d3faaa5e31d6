/**
 * The stories of the last messages, for the form that keeps nothing else: what happened and no
 * text. Whatever lives as long as 10,000 messages is promoted by the garbage collector, and every
 * message pays for it: so slots are made once and written over for ever, ids are digits in them,
 * and of what a message made only its trace stays. A look-up is a scan: people ask seldom.
 */
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { triesMax, type DeliveryTry, type FailureSummary } from '../../domain/story.ts';
import type { Trace } from '../../domain/trace.ts';
import { KeptApprovals } from './approvals.ts';
import { AuditRing } from './audit-ring.ts';
import { FigureRing } from './figure-ring.ts';
import { MemorySpend } from './spend.ts';
import { wholeIdLength, type InRow, type OutRow } from '../engine/order/rows.ts';
import { ToolUseRing } from './tool-use-ring.ts';

const storiesMax = 10_000;
/** So many replies of each story are kept in order; of a story with more, the newest. */
const repliesEach = 2;
/** The length of the id of a part of a split reply. */
const idLengthMax = 25;

/** Not yet: a number too, so that a field of times stays one. */
const never = Number.NaN;

export function timeOrNull(time: number): number | null {
  return Number.isNaN(time) ? null : time;
}

/** The digits of an id, written into the same bytes for ever. */
class KeptId {
  readonly #digits = new Uint8Array(idLengthMax);
  #length = 0;

  set(id: string): void {
    this.#length = Math.min(id.length, idLengthMax);
    for (let at = 0; at < this.#length; at++) this.#digits[at] = id.charCodeAt(at);
  }

  is(id: string): boolean {
    if (id.length !== this.#length) return false;
    for (let at = this.#length - 1; at >= 0; at--) {
      if (id.charCodeAt(at) !== this.#digits[at]) return false;
    }
    return true;
  }

  /** Whether it is the id of the same whole reply, or of a part of it. */
  isOfReply(id: string): boolean {
    for (let at = wholeIdLength - 1; at >= 0; at--) {
      if (id.charCodeAt(at) !== this.#digits[at]) return false;
    }
    return true;
  }

  toString(): string {
    return String.fromCharCode(...this.#digits.subarray(0, this.#length));
  }
}

export class KeptReply {
  readonly id = new KeptId();
  createdAt = never;
  state: 'waiting' | 'delivered' | 'dead' = 'waiting';
  attempts = 0;
  possibleDuplicate = false;
  late = false;
  dueAt = never;
  settledAt = never;
  deliveredInMs = never;
  /** The failed ones. */
  tries: DeliveryTry[] | null = null;
  failure: FailureSummary | null = null;

  begin({ id, createdAt }: Reply): void {
    this.id.set(id);
    this.createdAt = createdAt;
    this.state = 'waiting';
    this.attempts = 0;
    this.possibleDuplicate = false;
    this.late = false;
    this.dueAt = this.settledAt = this.deliveredInMs = never;
    this.tries = null;
    this.failure = null;
  }

  failed(startedAt: number, now: number, why: Failure): void {
    const { kind, status } = why;
    this.attempts++;
    this.failure = toldOf(why);
    if (this.tries?.length === triesMax) this.tries.shift();
    this.tries ??= [];
    this.tries.push({ startedAt, ms: now - startedAt, failed: kind, status });
  }
}

export class KeptStory {
  /** Counts all stories ever begun; 0: this slot was never used. */
  place = 0;
  readonly id = new KeptId();
  channel = '' as ChannelKey;
  acceptedAt = never;
  state: 'waiting' | 'answered' | 'dead' = 'waiting';
  settledAt = never;
  attempts = 0;
  trace: Trace | null = null;
  failure: FailureSummary | null = null;
  /** All replies that were ever in this slot: the first `count` are those of this story. */
  readonly replies: KeptReply[] = [];
  count = 0;
}

/** `number` counts all replies ever made. */
export type MadeReply = {
  readonly number: number;
  readonly story: KeptStory;
  readonly reply: KeptReply;
};

export class StoryRing {
  readonly uses = new ToolUseRing();
  readonly audit = new AuditRing();
  readonly figures = new FigureRing();
  readonly approvals = new KeptApprovals();
  readonly spend = new MemorySpend();
  readonly #slots: KeptStory[] = [];
  readonly #size: number;
  #begun = 0;
  /** For each of the last replies, in the order they were made: its story, and its place in it. */
  readonly #madePlaces: Float64Array;
  readonly #madeParts: Uint32Array;
  #made = 0;

  constructor(size = storiesMax) {
    this.#size = size;
    this.#madePlaces = new Float64Array(repliesEach * size);
    this.#madeParts = new Uint32Array(repliesEach * size);
  }

  /** @returns the place by which the story is told on; after `size` more it is forgotten */
  accepted({ id, channel, acceptedAt }: Message): number {
    const slot = this.#slotFor(this.#begun % this.#size);
    slot.place = ++this.#begun;
    slot.id.set(id);
    slot.channel = channel;
    slot.acceptedAt = acceptedAt;
    slot.state = 'waiting';
    slot.settledAt = never;
    slot.attempts = 0;
    slot.trace = null;
    slot.failure = null;
    slot.count = 0;
    return slot.place;
  }

  /** @param why null: it was answered */
  settled(
    row: InRow,
    now: number,
    why: Failure | null,
    effects: { readonly replies: readonly Reply[]; readonly trace: Trace | null } | null,
  ): void {
    const slot = this.#at(row.progress.story);
    if (slot === null) return;
    slot.state = why === null ? 'answered' : 'dead';
    slot.settledAt = now;
    // Only a fault ends a try. A message that could never be tried had no try.
    slot.attempts = why === null || why.kind === 'fault' ? row.attempt : row.attempt - 1;
    if (why !== null) slot.failure = toldOf(why);
    if (effects === null) return;
    slot.trace = effects.trace;
    for (const reply of effects.replies) {
      if (slot.count === slot.replies.length) slot.replies.push(new KeptReply());
      const index = ++this.#made % this.#madePlaces.length;
      this.#madePlaces[index] = slot.place;
      this.#madeParts[index] = slot.count;
      slot.replies[slot.count++]!.begin(reply);
    }
  }

  delivered(row: OutRow, now: number): void {
    const reply = this.#replyOf(row);
    if (reply === null) return;
    reply.state = 'delivered';
    reply.attempts++;
    reply.settledAt = now;
    reply.deliveredInMs = now - row.takenAt;
    reply.failure = null;
  }

  deferred(
    row: OutRow,
    now: number,
    why: Failure,
    how: { readonly at: number; readonly park: boolean; readonly possibleDuplicate: boolean },
  ): void {
    const reply = this.#replyOf(row);
    if (reply === null) return;
    reply.failed(row.takenAt, now, why);
    reply.dueAt = how.at;
    reply.late ||= how.park;
    reply.possibleDuplicate = how.possibleDuplicate;
  }

  dueNow(row: OutRow, at: number): void {
    const reply = this.#replyOf(row);
    if (reply !== null) reply.dueAt = at;
  }

  /**
   * @param tried false: it dies with the part before it
   * @returns whether it is the first of its reply's parts to die, as far as that is still known
   */
  died(row: OutRow, now: number, why: Failure, tried: boolean): boolean {
    const reply = this.#replyOf(row);
    if (reply === null) return true;
    const first = !this.#hasDeadPart(row);
    if (tried) reply.failed(row.takenAt, now, why);
    else reply.failure = toldOf(why);
    reply.state = 'dead';
    reply.settledAt = now;
    return first;
  }

  find(messageId: string): KeptStory | null {
    return this.#slots.find(({ id }) => id.is(messageId)) ?? null;
  }

  /** In no order. */
  [Symbol.iterator](): Iterator<KeptStory> {
    return this.#slots[Symbol.iterator]();
  }

  /** The stories that began before the one at `place`, newest first; each as it is when reached. */
  *before(place: number): Generator<KeptStory> {
    const oldest = Math.max(1, this.#begun - this.#size + 1);
    for (let at = Math.min(place - 1, this.#begun); at >= oldest; at--) yield this.#at(at)!;
  }

  /** The replies that were made before the one of that number, newest first. */
  *madeBefore(number: number): Generator<MadeReply> {
    const oldest = Math.max(1, this.#made - this.#madePlaces.length + 1);
    for (let at = Math.min(number - 1, this.#made); at >= oldest; at--) {
      const index = at % this.#madePlaces.length;
      const story = this.#at(this.#madePlaces[index]!);
      const reply = story?.replies[this.#madeParts[index]!];
      if (story != null && reply !== undefined) yield { number: at, story, reply };
    }
  }

  #slotFor(index: number): KeptStory {
    let slot = this.#slots[index];
    if (slot === undefined) this.#slots.push((slot = new KeptStory()));
    return slot;
  }

  /** Null: another story has taken its place. */
  #at(place: number): KeptStory | null {
    const slot = this.#slots[(place - 1) % this.#size];
    return slot?.place === place ? slot : null;
  }

  #hasDeadPart({ progress, head }: OutRow): boolean {
    const slot = this.#at(progress.story);
    const replies = slot?.replies.slice(0, slot.count) ?? [];
    return replies.some(({ state, id }) => state === 'dead' && id.isOfReply(head.id));
  }

  #replyOf({ progress, head: { id } }: OutRow): KeptReply | null {
    const slot = this.#at(progress.story);
    if (slot === null) return null;
    for (let at = 0; at < slot.count; at++) {
      const reply = slot.replies[at]!;
      if (slot.count === 1 || reply.id.is(id)) return reply;
    }
    return null;
  }
}

function toldOf({ kind, whose, status, detail }: Failure): FailureSummary {
  return { kind, whose, status, detail };
}
