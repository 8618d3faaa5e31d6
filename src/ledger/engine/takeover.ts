/**
 * Takes conversations over for an operator, answers them, and gives them back. Operator requests
 * run one at a time. A takeover is written before it begins. `heldHere` then puts it into effect,
 * in every process that may work the conversation.
 *
 * A takeover goes begun → renewed (any number of times) → given back, or expired.
 */
import type { Message } from '../../domain/message.ts';
import type { ConversationKey } from '../../domain/story.ts';
import { createDeadlines, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import type { OneAtATime } from '../../lib/one-at-a-time.ts';
import {
  takeoverMs,
  takeoversMax,
  waitingMax,
  type OperatorAnswer,
  type TakenOverConversation,
  type TakeoverTimes,
} from '../../domain/takeover.ts';
import type { Takeovers, TakeoverMessage, Effects, Memory } from '../ledger.ts';
import { isWhole, isWholeIn, type WholeInRow } from './queue.ts';
import type { Claims } from './claims.ts';
import { keyOf, memoryAfter } from './memories.ts';
import type { LedgerDeps, TurnEnd } from './storage.ts';

type ActiveTakeover = TakenOverConversation & {
  readonly end: Deadline;
  /** A clock that was ahead wrote a later end. That end does not expire by itself. */
  readonly isFar: boolean;
};
type MakeEffects = (one: TakeoverMessage, isLast: boolean) => Effects;

export class ActiveTakeovers implements Takeovers {
  readonly #deps: LedgerDeps;
  readonly #claims: Claims;
  readonly #requests: OneAtATime;
  readonly #settled: () => void;
  readonly #deadlines: Deadlines;
  readonly #takeovers = new Map<string, ActiveTakeover>();
  #closed = false;

  /**
   * @param requests runs one request of an operator after the other
   * @param settled called when there may be more room
   */
  constructor(deps: LedgerDeps, claims: Claims, requests: OneAtATime, settled: () => void) {
    this.#deps = deps;
    this.#claims = claims;
    this.#requests = requests;
    this.#settled = settled;
    this.#deadlines = createDeadlines(deps.steady);
    for (const stored of deps.storage.takeovers.found) this.#set(stored, stored);
  }

  hold(where: ConversationKey): Promise<TakeoverTimes | 'too_many' | 'storage_failed'> {
    return this.#requests.do(async () => {
      if (!this.#takeovers.has(keyOf(where)) && this.#takeovers.size >= takeoversMax)
        return 'too_many';
      return (await this.#beginOrRenew(where)) ?? 'storage_failed';
    });
  }

  giveBack(where: ConversationKey): Promise<'done' | 'not_held' | 'storage_failed'> {
    return this.#requests.do(async () => {
      if (this.of(where) === null) return 'not_held';
      return (await this.end(where)) ? 'done' : 'storage_failed';
    });
  }

  answer(
    where: ConversationKey,
    upTo: string | null,
    effectsOf: MakeEffects,
  ): Promise<OperatorAnswer> {
    return this.#requests.do(() => this.#answer(where, upTo, effectsOf));
  }

  of(where: ConversationKey): TakeoverTimes | null {
    const takeover = this.#takeovers.get(keyOf(where));
    return takeover === undefined ? null : { since: takeover.since, untilAt: takeover.untilAt };
  }

  held(): readonly TakenOverConversation[] {
    const all = [...this.#takeovers.values()].map(({ channel, conversation, since, untilAt }) => {
      return { channel, conversation, since, untilAt };
    });
    return all.toSorted((a, b) => a.since - b.since);
  }

  get count(): number {
    return this.#takeovers.size;
  }

  async waiting(where: ConversationKey): Promise<readonly Message[]> {
    return (await this.#waiting(where)).map(({ message }) => message);
  }

  /**
   * Puts a written takeover, or its end, into effect in this process. Resolves when everything on
   * its way into the storage has its place. From then on nothing of the conversation is at work.
   * @param hold null: the takeover has ended
   */
  async heldHere(where: ConversationKey, hold: TakeoverTimes | null): Promise<void> {
    if (hold === null) return this.#endHere(where);
    const isRenewed = this.#takeovers.has(keyOf(where));
    this.#set(where, hold);
    if (isRenewed) return;
    const { rows, storage } = this.#deps;
    const { channel, conversation } = where;
    rows.takeOver(channel, conversation);
    this.#claims.takeBack(channel, conversation);
    storage.crashIsolation?.changed();
    await storage.written();
  }

  /** Ends a takeover in all processes. @returns false: that cannot be written */
  async end(where: ConversationKey): Promise<boolean> {
    if (this.of(where) === null) return true;
    if (this.#closed || !(await this.#deps.storage.takeovers.keep(where, null))) return false;
    await this.heldHere(where, null);
    return true;
  }

  /** Ends all takeovers in memory, and begins none afterwards. */
  endAll(): void {
    this.#closed = true;
    for (const where of this.held()) this.#endHere(where);
  }

  close(): void {
    this.#closed = true;
    for (const { end } of this.#takeovers.values()) end.cancel();
  }

  /** Begins or renews a takeover. @returns null: it cannot be written */
  async #beginOrRenew(where: ConversationKey): Promise<TakeoverTimes | null> {
    const now = Math.round(this.#deps.now());
    const hold = { since: this.of(where)?.since ?? now, untilAt: now + takeoverMs };
    if (this.#closed || !(await this.#deps.storage.takeovers.keep(where, hold))) return null;
    await this.heldHere(where, hold);
    return hold;
  }

  #set({ channel, conversation }: ConversationKey, { since, untilAt }: TakeoverTimes): void {
    const where = { channel, conversation };
    const key = keyOf(where);
    this.#takeovers.get(key)?.end.cancel();
    const now = this.#deps.now();
    const latest = Math.round(now + takeoverMs);
    const isFar = untilAt > latest;
    const leftMs = Math.min(takeoverMs, Math.max(0, untilAt - now));
    const end = this.#deadlines.after(leftMs, () => void this.#expire(where));
    this.#takeovers.set(key, { ...where, since, untilAt: Math.min(untilAt, latest), end, isFar });
  }

  #endHere(where: ConversationKey): void {
    const key = keyOf(where);
    const takeover = this.#takeovers.get(key);
    if (takeover === undefined) return;
    takeover.end.cancel();
    this.#takeovers.delete(key);
    this.#deps.rows.endTakeover(where.channel, where.conversation);
    this.#deps.storage.crashIsolation?.changed();
  }

  #expire(where: ConversationKey): Promise<void> {
    return this.#requests.do(async () => {
      const { now, storage, news } = this.#deps;
      const takeover = this.#takeovers.get(keyOf(where));
      if (takeover === undefined || this.#closed) return;
      // The clock was set back meanwhile, or the takeover was renewed.
      if (now() < takeover.untilAt) return this.#set(where, takeover);
      if (takeover.isFar) await storage.takeovers.keep(where, null);
      else storage.takeovers.expired(now());
      this.#endHere(where);
      news.holdOver?.({ channel: where.channel });
    });
  }

  async #answer(
    where: ConversationKey,
    upTo: string | null,
    effectsOf: MakeEffects,
  ): Promise<OperatorAnswer> {
    if (this.of(where) === null) return { kind: 'not_held' };
    if (this.#closed) return { kind: 'storage_failed' };
    const waiting = await this.#waiting(where);
    const at = upTo === null ? 0 : waiting.findIndex(({ message }) => message.id === upTo);
    if (at < 0) return { kind: 'answered_already' };
    const rows = waiting.slice(0, at + 1);
    if (rows.length === 0) return { kind: 'nothing_to_answer' };
    const ends = await this.#endsOf(rows, effectsOf);
    const kind = await this.#deps.storage.takeovers.answered(ends, () => this.#settle(where, ends));
    if (kind !== 'answered') return { kind };
    const messages = rows.map(({ message }) => message.id);
    return { kind, messages, hold: (await this.#beginOrRenew(where)) ?? this.of(where) };
  }

  async #waiting(where: ConversationKey): Promise<readonly WholeInRow[]> {
    const { rows, storage } = this.#deps;
    const elsewhere = await storage.takeovers.waiting?.(where, waitingMax);
    if (elsewhere !== undefined) return elsewhere;
    const waiting = rows.unclaimed(where.channel, where.conversation, waitingMax);
    const unread = waiting.filter((row) => !isWhole(row));
    if (unread.length > 0) await storage.read(unread);
    return waiting.filter(isWholeIn);
  }

  /** The ends of the messages. Each answer sees the memory that the messages before it leave. */
  async #endsOf(rows: readonly WholeInRow[], effectsOf: MakeEffects): Promise<readonly TurnEnd[]> {
    const { storage, now } = this.#deps;
    const first = rows[0]!;
    while (!storage.isReady(first)) await storage.read([first]);
    const { durable } = storage.durability;
    let known: Memory | null = null;
    return rows.map((row, place) => {
      const { message, attempt, poison } = row;
      const memory = known ?? storage.history.of(message);
      const effects = effectsOf({ message, memory, attempt, poison }, place === rows.length - 1);
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
    const { rows, storage } = this.#deps;
    for (const { row, replies } of ends) {
      for (const { reply, seq } of replies) rows.addReply(reply, row.progress, seq);
    }
    const ids = new Set<string>(ends.map(({ row }) => row.head.id));
    rows.remove(channel, conversation, ({ box, head }) => box === 'in' && ids.has(head.id));
    storage.crashIsolation?.changed();
    this.#settled();
  }
}
