/**
 * The stories of the last messages for the memory backend: what happened, without texts. The
 * garbage collector promotes objects that live as long as 10,000 messages, and every message pays
 * for that. So slots are made once and overwritten for ever. They hold ids as digits, and only the
 * trace of all objects that a message makes. A look-up scans the ring: operators ask seldom.
 */
import { hourMs, minuteMs } from '../../lib/durations.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import {
  triesMax,
  type DeliveryTry,
  type FailureSummary,
  type MessageOwner,
} from '../../domain/story.ts';
import type { Trace } from '../../domain/trace.ts';
import { KeptApprovals } from './approvals.ts';
import { MemorySpend } from './spend.ts';
import { wholeIdLength, isOf, type InRow, type OutRow } from '../engine/queue.ts';
import { auditRowsMax, type AuditRow } from '../../domain/audit.ts';
import { Rollup } from '../../telemetry/figures/rollup.ts';
import {
  kept,
  type FigureRow,
  type FiguresRequest,
  type KeptFigures,
  type RowLength,
} from '../../telemetry/figures/figures.ts';
import type { FiguresReader, StoredFigures } from '../ledger.ts';
import type {
  BegunCall,
  CallEnding,
  ToolUseWithResult,
  ToolUse,
  ToolUseText,
} from '../../domain/tool-use.ts';

const storiesMax = 10_000;
/**
 * The order of replies is kept for this many replies for each story on average. The oldest are
 * dropped first.
 */
const repliesEach = 2;
/** The length of the id of a part of a split reply. */
const idLengthMax = 25;

/** No time yet. It is a number, so that a field of times always holds numbers. */
const never = Number.NaN;

export function timeOrNull(time: number): number | null {
  return Number.isNaN(time) ? null : time;
}

/** An id as digits, always written into the same bytes. */
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

  /** Whether it is the id of the same reply, or of another part of it. */
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
  /** The failed attempts. */
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
    this.failure = failureSummary(why);
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
  /** All replies that were ever in this slot. The first `count` belong to this story. */
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
  /**
   * The story of each of the last replies, in the order in which they were made, and the reply's
   * index in the story.
   */
  readonly #madePlaces: Float64Array;
  readonly #madeParts: Uint32Array;
  #made = 0;

  constructor(size = storiesMax) {
    this.#size = size;
    this.#madePlaces = new Float64Array(repliesEach * size);
    this.#madeParts = new Uint32Array(repliesEach * size);
  }

  /** @returns the place of the story for later calls. After `size` more stories it is forgotten */
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
    const slot = this.#storyAt(row.progress.story);
    if (slot === null) return;
    slot.state = why === null ? 'answered' : 'dead';
    slot.settledAt = now;
    // Only a fault ends an attempt. A message that could never be tried had no attempt.
    slot.attempts = why === null || why.kind === 'fault' ? row.attempt : row.attempt - 1;
    if (why !== null) slot.failure = failureSummary(why);
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
   * @returns whether it is the first part of its reply to die, as far as that is known
   */
  died(row: OutRow, now: number, why: Failure, tried: boolean): boolean {
    const reply = this.#replyOf(row);
    if (reply === null) return true;
    const first = !this.#hasDeadPart(row);
    if (tried) reply.failed(row.takenAt, now, why);
    else reply.failure = failureSummary(why);
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

  /** The stories before the one at `place`, newest first, each in its state when it is reached. */
  *before(place: number): Generator<KeptStory> {
    const oldest = Math.max(1, this.#begun - this.#size + 1);
    for (let at = Math.min(place - 1, this.#begun); at >= oldest; at--) yield this.#storyAt(at)!;
  }

  /** The stories after the one at `place`, oldest first, each in its state when it is reached. */
  *after(place: number): Generator<KeptStory> {
    const oldest = Math.max(1, this.#begun - this.#size + 1);
    for (let at = Math.max(place + 1, oldest); at <= this.#begun; at++) yield this.#storyAt(at)!;
  }

  /** The replies before the one with that number, newest first. */
  *madeBefore(number: number): Generator<MadeReply> {
    const oldest = Math.max(1, this.#made - this.#madePlaces.length + 1);
    for (let at = Math.min(number - 1, this.#made); at >= oldest; at--) {
      const index = at % this.#madePlaces.length;
      const story = this.#storyAt(this.#madePlaces[index]!);
      const reply = story?.replies[this.#madeParts[index]!];
      if (story != null && reply !== undefined) yield { number: at, story, reply };
    }
  }

  #slotFor(index: number): KeptStory {
    let slot = this.#slots[index];
    if (slot === undefined) this.#slots.push((slot = new KeptStory()));
    return slot;
  }

  /** The story at a place; null: a newer one has overwritten it. */
  #storyAt(place: number): KeptStory | null {
    const slot = this.#slots[(place - 1) % this.#size];
    return slot?.place === place ? slot : null;
  }

  #hasDeadPart({ progress, head }: OutRow): boolean {
    const slot = this.#storyAt(progress.story);
    const replies = slot?.replies.slice(0, slot.count) ?? [];
    return replies.some(({ state, id }) => state === 'dead' && id.isOfReply(head.id));
  }

  #replyOf({ progress, head: { id } }: OutRow): KeptReply | null {
    const slot = this.#storyAt(progress.story);
    if (slot === null) return null;
    for (let at = 0; at < slot.count; at++) {
      const reply = slot.replies[at]!;
      if (slot.count === 1 || reply.id.is(id)) return reply;
    }
    return null;
  }
}

function failureSummary({ kind, whose, status, detail }: Failure): FailureSummary {
  return { kind, whose, status, detail };
}

/** A row with its number. Numbers start at 1 and count all rows ever added. */
type KeptAudit = AuditRow & { readonly seq: number };

/** The last operator actions of the memory backend. */
export class AuditRing {
  readonly #rows: KeptAudit[] = [];
  #added = 0;

  add(row: AuditRow): void {
    this.#rows.push({ ...row, seq: ++this.#added });
    if (this.#rows.length > auditRowsMax) this.#rows.shift();
  }

  /** Newest first. */
  newestFirst(): readonly KeptAudit[] {
    return this.#rows.toReversed();
  }
}

/** The figures of the memory backend. It keeps them as long as any backend does. */
export class FigureRing implements StoredFigures, FiguresReader {
  /** In the order in which they were first kept. */
  readonly #rows = new Map<string, FigureRow>();

  async keep(rows: readonly FigureRow[]): Promise<boolean> {
    for (const row of rows) {
      this.#rows.set(`${row.lengthMs} ${row.at} ${row.run}`, row);
      this.#drop(row.lengthMs);
    }
    return true;
  }

  async figures(query: FiguresRequest): Promise<KeptFigures> {
    const rows = [...this.#rows.values()];
    const gathering = new Rollup(query);
    const fits = ({ lengthMs, at }: FigureRow): boolean =>
      lengthMs === query.lengthMs && at >= query.from && at < query.until;
    for (const row of rows.filter(fits).toSorted((one, other) => one.at - other.at)) {
      gathering.add(row);
    }
    const { run, first, last } = query.own;
    const isOwn = (row: FigureRow): boolean =>
      row.lengthMs === minuteMs && row.run === run && row.at >= first && row.at <= last;
    return gathering.told({
      first: { minute: firstOf(rows, minuteMs), hour: firstOf(rows, hourMs) },
      ownUntil: rows.findLast(isOwn)?.at ?? null,
    });
  }

  /** Drops the oldest rows of that length above the number that the retention time allows. */
  #drop(lengthMs: number): void {
    const { forMs } = kept.find((one) => one.lengthMs === lengthMs)!;
    const of = [...this.#rows].filter(([, row]) => row.lengthMs === lengthMs);
    for (const [key] of of.slice(0, -(forMs / lengthMs))) this.#rows.delete(key);
  }
}

function firstOf(rows: readonly FigureRow[], length: RowLength): number | null {
  const times = rows.filter(({ lengthMs }) => lengthMs === length).map(({ at }) => at);
  return times.length === 0 ? null : Math.min(...times);
}

/** The last tool uses of the memory backend, without the arguments of the model. */
const usesMax = 1_000;

type KeptUse = { readonly message: UseOrigin; readonly use: ToolUse };
type UseOrigin = Pick<Message, 'id' | 'channel' | 'conversation' | 'sender'>;

/** Replaces the ids of persons, which are not shown without storage. */
const unknown = '' as ConversationId;

class ToolUseRing {
  #kept: KeptUse[] = [];

  add({ id, channel, conversation, sender }: Message, uses: readonly ToolUseWithResult[]): void {
    if (uses.length === 0) return;
    const message = { id, channel, conversation, sender };
    for (const { told: _told, ...use } of uses) {
      const at = this.#kept.findLastIndex((one) => one.use.key === use.key);
      if (at < 0) this.#kept.push({ message, use: { ...use, arguments: '' } });
      else this.#kept[at] = { message, use: { ...use, at: this.#kept[at]!.use.at, arguments: '' } };
    }
    if (this.#kept.length > usesMax) this.#kept = this.#kept.slice(-usesMax);
  }

  /** Adds a use with the outcome `unknown`, until its own end or that of its turn is reported. */
  begun(message: Message, { key, at, tool, mode, rule }: BegunCall): void {
    const use = { key, at, ms: 0, tool, mode, rule, arguments: '' };
    this.add(message, [{ ...use, outcome: 'unknown', told: null }]);
  }

  ended(key: string, { outcome, ms }: CallEnding): void {
    const at = this.#kept.findLastIndex(({ use }) => use.key === key);
    const begun = this.#kept[at];
    if (begun?.use.outcome !== 'unknown') return;
    this.#kept[at] = { ...begun, use: { ...begun.use, outcome, ms } };
  }

  /** The last n uses of a conversation, newest first. */
  of(channel: ChannelKey, conversation: ConversationId, n: number): readonly ToolUse[] {
    const here = this.#kept.filter(
      ({ message }) => message.channel === channel && message.conversation === conversation,
    );
    return here
      .slice(-n)
      .reverse()
      .map(({ use }) => use);
  }

  remove(whose: MessageOwner): void {
    this.#kept = this.#kept.filter(({ message }) => !isOf(whose, message, message.sender.id));
  }

  /** All uses, newest first. */
  newestFirst(): readonly ToolUseText[] {
    return this.#kept.toReversed().map(({ message: { id, channel }, use }) => {
      return { ...use, messageId: id, channel, conversation: unknown, arguments: null, told: null };
    });
  }
}
