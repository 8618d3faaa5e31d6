/**
 * Takes conversations over for an operator, answers them, and gives them back. Operator requests
 * run one at a time. A takeover is written before it begins. `heldHere` then puts it into effect,
 * in every process that may work the conversation.
 */
import type { Message } from '../../domain/message.ts';
import type { ConversationKey } from '../../domain/story.ts';
import type { Clock } from '../../lib/clock.ts';
import { createDeadlines, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import type { OneAtATime } from '../../lib/one-at-a-time.ts';
import { holdMs, holdsMax, waitingMax } from '../../domain/takeover.ts';
import type { OperatorAnswer, HeldConversation, Hold } from '../../domain/takeover.ts';
import type { Takeovers, TakeoverMessage, Effects, Memory, LedgerNews } from '../ledger.ts';
import { isWhole, type InRow, type WholeInRow } from './order/rows.ts';
import type { WorkingSet } from './order/working-set.ts';
import type { Claiming } from './claiming.ts';
import { keyOf } from './memories.ts';
import { memoryAfter } from './next-memory.ts';
import type { LedgerStorage, TurnEnd } from './storage.ts';

export type HoldingDeps = Clock & {
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  readonly claiming: Claiming;
  readonly asked: OneAtATime;
  readonly news: LedgerNews;
  /** Called when there may be more room. */
  readonly settled: () => void;
};

type Held = HeldConversation & {
  readonly end: Deadline;
  /** A clock that was ahead wrote a later end. That end does not expire by itself. */
  readonly isFar: boolean;
};
type MakeEffects = (one: TakeoverMessage, isLast: boolean) => Effects;

export class Holding implements Takeovers {
  readonly #deps: HoldingDeps;
  readonly #deadlines: Deadlines;
  readonly #held = new Map<string, Held>();
  #closed = false;

  constructor(deps: HoldingDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.steady);
    for (const found of deps.storage.byHand.found) this.#keep(found, found);
  }

  hold(where: ConversationKey): Promise<Hold | 'too_many' | 'storage_failed'> {
    return this.#deps.asked.do(async () => {
      if (!this.#held.has(keyOf(where)) && this.#held.size >= holdsMax) return 'too_many';
      return (await this.#touch(where)) ?? 'storage_failed';
    });
  }

  giveBack(where: ConversationKey): Promise<'done' | 'not_held' | 'storage_failed'> {
    return this.#deps.asked.do(async () => {
      if (this.of(where) === null) return 'not_held';
      return (await this.end(where)) ? 'done' : 'storage_failed';
    });
  }

  answer(where: ConversationKey, upTo: string | null, make: MakeEffects): Promise<OperatorAnswer> {
    return this.#deps.asked.do(() => this.#answer(where, upTo, make));
  }

  of(where: ConversationKey): Hold | null {
    const held = this.#held.get(keyOf(where));
    return held === undefined ? null : { since: held.since, untilAt: held.untilAt };
  }

  held(): readonly HeldConversation[] {
    const all = [...this.#held.values()].map(({ channel, conversation, since, untilAt }) => {
      return { channel, conversation, since, untilAt };
    });
    return all.toSorted((a, b) => a.since - b.since);
  }

  get count(): number {
    return this.#held.size;
  }

  async waiting(where: ConversationKey): Promise<readonly Message[]> {
    return (await this.#waiting(where)).map(({ message }) => message);
  }

  /**
   * Puts a written takeover, or its end, into effect in this process. Resolves when everything on
   * its way into the storage has its place. From then on nothing of the conversation is at work.
   * @param hold null: the takeover has ended
   */
  async heldHere(where: ConversationKey, hold: Hold | null): Promise<void> {
    if (hold === null) return this.#lift(where);
    const isRenewed = this.#held.has(keyOf(where));
    this.#keep(where, hold);
    if (isRenewed) return;
    const { rows, claiming, storage } = this.#deps;
    const { channel, conversation } = where;
    rows.byHand.take(channel, conversation);
    claiming.takeBack(
      ({ queue }) => queue.channel === channel && queue.conversation === conversation,
    );
    storage.crashIsolation?.changed();
    await storage.written();
  }

  /** Ends a takeover in all processes. @returns false: that cannot be written */
  async end(where: ConversationKey): Promise<boolean> {
    if (this.of(where) === null) return true;
    if (this.#closed || !(await this.#deps.storage.byHand.keep(where, null))) return false;
    await this.heldHere(where, null);
    return true;
  }

  /** Ends all takeovers in memory, and begins none afterwards. */
  endAll(): void {
    this.#closed = true;
    for (const held of this.held()) this.#lift(held);
  }

  close(): void {
    this.#closed = true;
    for (const { end } of this.#held.values()) end.cancel();
  }

  /** Begins or renews a takeover. @returns null: it cannot be written */
  async #touch(where: ConversationKey): Promise<Hold | null> {
    const now = Math.round(this.#deps.now());
    const hold = { since: this.of(where)?.since ?? now, untilAt: now + holdMs };
    if (this.#closed || !(await this.#deps.storage.byHand.keep(where, hold))) return null;
    await this.heldHere(where, hold);
    return hold;
  }

  #keep({ channel, conversation }: ConversationKey, { since, untilAt }: Hold): void {
    const where = { channel, conversation };
    const key = keyOf(where);
    this.#held.get(key)?.end.cancel();
    const now = this.#deps.now();
    const latest = Math.round(now + holdMs);
    const isFar = untilAt > latest;
    const leftMs = Math.min(holdMs, Math.max(0, untilAt - now));
    const end = this.#deadlines.after(leftMs, () => void this.#expire(where));
    this.#held.set(key, { ...where, since, untilAt: Math.min(untilAt, latest), end, isFar });
  }

  #lift(where: ConversationKey): void {
    const key = keyOf(where);
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.end.cancel();
    this.#held.delete(key);
    this.#deps.rows.byHand.giveBack(where.channel, where.conversation);
    this.#deps.storage.crashIsolation?.changed();
  }

  #expire(where: ConversationKey): Promise<void> {
    return this.#deps.asked.do(async () => {
      const { now, storage, news } = this.#deps;
      const hold = this.#held.get(keyOf(where));
      if (hold === undefined || this.#closed) return;
      // The clock was set back meanwhile, or the takeover was renewed.
      if (now() < hold.untilAt) return this.#keep(where, hold);
      if (hold.isFar) await storage.byHand.keep(where, null);
      else storage.byHand.expired(now());
      this.#lift(where);
      news.holdOver?.({ channel: where.channel });
    });
  }

  async #answer(
    where: ConversationKey,
    upTo: string | null,
    make: MakeEffects,
  ): Promise<OperatorAnswer> {
    if (this.of(where) === null) return { kind: 'not_held' };
    if (this.#closed) return { kind: 'storage_failed' };
    const waiting = await this.#waiting(where);
    const at = upTo === null ? 0 : waiting.findIndex(({ message }) => message.id === upTo);
    if (at < 0) return { kind: 'answered_already' };
    const rows = waiting.slice(0, at + 1);
    if (rows.length === 0) return { kind: 'nothing_to_answer' };
    const ends = await this.#endsOf(rows, make);
    const kind = await this.#deps.storage.byHand.answered(ends, () => this.#settle(where, ends));
    if (kind !== 'answered') return { kind };
    const messages = rows.map(({ message }) => message.id);
    return { kind, messages, hold: (await this.#touch(where)) ?? this.of(where) };
  }

  async #waiting(where: ConversationKey): Promise<readonly WholeInRow[]> {
    const { rows, storage } = this.#deps;
    const elsewhere = await storage.byHand.waiting?.(where, waitingMax);
    if (elsewhere !== undefined) return elsewhere;
    const found = rows.byHand.waiting(where.channel, where.conversation, waitingMax);
    const silent = found.filter((row) => !isWhole(row));
    if (silent.length > 0) await storage.read(silent);
    return found.filter(isWholeIn);
  }

  /** The ends of the messages. Each answer sees the memory that the messages before it leave. */
  async #endsOf(rows: readonly WholeInRow[], make: MakeEffects): Promise<readonly TurnEnd[]> {
    const { storage, now } = this.#deps;
    const first = rows[0]!;
    while (!storage.isReady(first)) await storage.read([first]);
    const { durable } = storage.durability;
    let known: Memory | null = null;
    return rows.map((row, place) => {
      const { message, attempt, poison } = row;
      const memory = known ?? storage.history.of(message);
      const effects = make({ message, memory, attempt, poison }, place === rows.length - 1);
      const replies = effects.replies.map((reply) => {
        return { reply, seq: this.#deps.rows.nextSeq() };
      });
      const end = { row, at: now(), memory, why: null, effects, replies };
      // Without storage, no turn remembers the one before.
      if (durable) known = memoryAfter(message, memory, effects, storage.history.bounds);
      return end;
    });
  }

  /** The answer is written: removes its messages from the working set, and adds its replies. */
  #settle({ channel, conversation }: ConversationKey, ends: readonly TurnEnd[]): void {
    const { rows, storage, settled } = this.#deps;
    for (const { row, replies } of ends) {
      for (const { reply, seq } of replies) rows.addReply(reply, row.progress, seq);
    }
    const ids = new Set<string>(ends.map(({ row }) => row.head.id));
    rows.remove(channel, conversation, ({ box, head }) => box === 'in' && ids.has(head.id));
    storage.crashIsolation?.changed();
    settled();
  }
}

function isWholeIn(row: InRow): row is WholeInRow {
  return row.message !== null;
}
