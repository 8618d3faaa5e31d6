/**
 * When the bot may send (https://core.telegram.org/bots/faq, "My bot is hitting limits"): about 30
 * messages a second in all, one a second in a chat with short bursts, 20 a minute in a group. What
 * is sent here stays below each of them, in any second and any minute.
 *
 * A chat's place is taken first, then the bot's, which is given out in the order of asking. Whoever
 * would wait for its chat for longer than a moment is sent away with the time, so that a slow group
 * holds up nobody else.
 */
import { later, type SteadyTime } from '../../lib/clock.ts';
import { passed, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import {
  fullAfterOne,
  msUntilOne,
  Window,
  LowPriorityQueue,
  type RateLimit,
} from '../messenger/low-priority-queue.ts';

export type PaceLimits = {
  /** How evenly messages go out. */
  readonly bot: RateLimit;
  /** Messages in any second, also where first sights come close together. */
  readonly secondMax: number;
  readonly drafts: RateLimit;
  readonly person: RateLimit;
  readonly group: RateLimit;
  /** What a send waits for at most before it is sent away. */
  readonly waitMsMax: number;
};

export const paceLimits: PaceLimits = {
  bot: { everyMs: 36, burst: 2 },
  secondMax: 29,
  drafts: { everyMs: 36, burst: 50 },
  person: { everyMs: 1_050, burst: 3 },
  group: { everyMs: 4_000, burst: 4 },
  waitMsMax: 2_000,
};

/**
 * What of the allowances the growth of replies leaves over, for first sights of others and for
 * replies: of messages as many as these were in the last second, and that many more.
 */
const leftOver = { messages: 6, drafts: 30 } as const;
/** That many it may have in a second all the same. */
const growthMin = 4;

/**
 * What may be left out. `notice`: "typing…" or eyes, which take no message's place in their chat.
 * `draft`: of a message, which takes no message's place anywhere.
 */
export type Spare = 'message' | 'notice' | 'draft';

/** `later`: not before so many milliseconds. */
export type Admission =
  | { readonly kind: 'go' | 'stopped' }
  | { readonly kind: 'later'; readonly ms: number };

export interface Pace {
  /**
   * Resolves with `go` when one message may be sent to that chat.
   * @param waitMsMax what it waits for its chat at most; left out: moments
   */
  admit(chat: number, signal: AbortSignal, waitMsMax?: number): Promise<Admission>;
  /**
   * Takes what no reply needs, for what may be left out, in the order of asking as far as the chats
   * have one. It leaves one for a reply, and every reply that waits goes first.
   * @param kind left out: a message
   * @param isFirst whether it is the first sight of a reply, which goes before everything else
   *   that may be left out
   * @returns false: stopped before
   */
  spare(chat: number, signal: AbortSignal, kind?: Spare, isFirst?: boolean): Promise<boolean>;
  /** The platform asked for a pause: nothing is sent in it. */
  hold(ms: number): void;
}

export type PaceDeps = {
  readonly steady: () => SteadyTime;
  readonly deadlines: Deadlines;
  readonly limits?: Partial<PaceLimits>;
};

export function createPace(deps: PaceDeps): Pace {
  return new BotPace(deps);
}

/** Before a new one is kept, those are let go of whose allowance is full again. */
const chatsMax = 4_096;

const go: Admission = { kind: 'go' };

type Waiting = { readonly answer: (admission: Admission) => void };

class BotPace implements Pace {
  readonly #steady: () => SteadyTime;
  readonly #deadlines: Deadlines;
  readonly #limits: PaceLimits;
  /** When the bot's allowance is full again. */
  #full: SteadyTime;
  #heldUntil: SteadyTime;
  /** When a chat's allowance is full again; a chat that is not here has all of it. */
  readonly #chats = new Map<number, SteadyTime>();
  /** Those that have their chat's place and wait for the bot's. */
  readonly #queue: Waiting[] = [];
  #next: Deadline | null = null;
  readonly #spares: LowPriorityQueue;
  /** All messages of the last second, and those of them that may be left out and are no firsts. */
  readonly #window: Window;
  readonly #growth: Window;
  /** When the drafts' allowance is full again. */
  #draftsFull: SteadyTime;
  readonly #drafts: LowPriorityQueue;

  constructor({ steady, deadlines, limits }: PaceDeps) {
    this.#steady = steady;
    this.#deadlines = deadlines;
    this.#limits = { ...paceLimits, ...limits };
    this.#full = this.#heldUntil = this.#draftsFull = steady();
    this.#window = new Window(this.#limits.secondMax, 1_000);
    this.#growth = new Window(this.#limits.secondMax, 1_000);
    this.#spares = new LowPriorityQueue(deadlines, (isFirst) => this.#msUntilSpare(isFirst));
    this.#drafts = new LowPriorityQueue(deadlines, (isFirst) => this.#msUntilDraft(isFirst));
  }

  async admit(
    chat: number,
    signal: AbortSignal,
    waitMsMax = this.#limits.waitMsMax,
  ): Promise<Admission> {
    if (signal.aborted) return { kind: 'stopped' };
    const rateLimit = this.#rateLimitOf(chat);
    const chatMs = this.#msUntil(this.#chats.get(chat), rateLimit);
    const ms = Math.max(chatMs, this.#heldMs);
    if (ms > waitMsMax) return { kind: 'later', ms };
    this.#takeOf(chat, rateLimit);
    if (chatMs === 0 && this.#takeOwn()) return go;
    return chatMs === 0 ? this.#inTurn(signal) : this.#afterChat(chatMs, signal);
  }

  async spare(
    chat: number,
    signal: AbortSignal,
    kind: Spare = 'message',
    isFirst = false,
  ): Promise<boolean> {
    if (kind === 'draft') return this.#drafts.next(this.#takeDraft, signal, isFirst);
    const rateLimit = this.#rateLimitOf(chat);
    const msOfChat = (): number => this.#msUntil(this.#chats.get(chat), rateLimit, 1);
    const take = (): boolean => {
      // A reply to that chat may have come first.
      if (msOfChat() > 0) return false;
      // First sights may come close together: the others go out as evenly as without them.
      if (!isFirst) this.#full = fullAfterOne(this.#full, this.#limits.bot, this.#steady());
      if (kind === 'notice') return true;
      this.#takeOf(chat, rateLimit);
      this.#window.take(this.#steady());
      if (!isFirst) this.#growth.take(this.#steady());
      return true;
    };
    while (!signal.aborted) {
      const ms = msOfChat();
      if (ms > 0) await passed(this.#deadlines, ms, signal);
      else if (await this.#spares.next(take, signal, isFirst)) return true;
    }
    return false;
  }

  readonly #takeDraft = (): boolean => {
    this.#draftsFull = fullAfterOne(this.#draftsFull, this.#limits.drafts, this.#steady());
    return true;
  };

  hold(ms: number): void {
    const until = later(this.#steady(), ms);
    if (until > this.#heldUntil) this.#heldUntil = until;
  }

  get #heldMs(): number {
    return Math.max(0, this.#heldUntil - this.#steady());
  }

  /** The ids of groups and channels are negative. */
  #rateLimitOf(chat: number): RateLimit {
    return chat < 0 ? this.#limits.group : this.#limits.person;
  }

  #msUntil(full: SteadyTime | undefined, rateLimit: RateLimit, spare = 0): number {
    return msUntilOne(full, rateLimit, this.#steady(), spare);
  }

  /** Until the bot may send a reply. */
  get #msOwn(): number {
    const ms = this.#msUntil(this.#full, this.#limits.bot);
    return Math.max(ms, this.#window.msUntilOne(this.#steady()));
  }

  #msUntilSpare(isFirst: boolean): number {
    const { bot } = this.#limits;
    const ofWindow = Math.max(this.#heldMs, this.#window.msUntilOne(this.#steady(), 1));
    const waiting = this.#queue.length;
    if (isFirst) {
      const ofReplies = waiting === 0 ? 0 : this.#msOwn + (waiting - 1) * bot.everyMs + 1;
      return Math.max(ofWindow, ofReplies);
    }
    const ofBot = this.#msUntil(this.#full, bot, 1) + waiting * bot.everyMs;
    return Math.max(ofWindow, ofBot, this.#msUntilGrowth);
  }

  get #msUntilGrowth(): number {
    const { secondMax } = this.#limits;
    const now = this.#steady();
    const others = this.#window.count(now) - this.#growth.count(now);
    const most = secondMax - others - leftOver.messages;
    return this.#growth.msUntilOne(now, secondMax - Math.max(most, growthMin));
  }

  #msUntilDraft(isFirst: boolean): number {
    const spare = isFirst ? 0 : leftOver.drafts;
    const ms = this.#msUntil(this.#draftsFull, this.#limits.drafts, spare);
    return Math.max(this.#heldMs, ms);
  }

  #takeOf(chat: number, rateLimit: RateLimit): void {
    const now = this.#steady();
    const full = this.#chats.get(chat);
    if (full === undefined && this.#chats.size >= chatsMax) this.#forget(now);
    this.#chats.set(chat, fullAfterOne(full, rateLimit, now));
  }

  /** More than a few hundred cannot be short of anything: the bot's allowance is too small. */
  #forget(now: SteadyTime): void {
    for (const [chat, full] of this.#chats) if (full <= now) this.#chats.delete(chat);
  }

  /** @returns whether the bot may send now, and nobody asked before */
  #takeOwn(): boolean {
    if (this.#queue.length > 0 || this.#heldMs > 0 || this.#msOwn > 0) return false;
    this.#spend();
    return true;
  }

  #spend(): void {
    this.#full = fullAfterOne(this.#full, this.#limits.bot, this.#steady());
    this.#window.take(this.#steady());
  }

  async #afterChat(ms: number, signal: AbortSignal): Promise<Admission> {
    await passed(this.#deadlines, ms, signal);
    if (signal.aborted) return { kind: 'stopped' };
    return this.#takeOwn() ? go : this.#inTurn(signal);
  }

  #inTurn(signal: AbortSignal): Promise<Admission> {
    return new Promise((resolve) => {
      const stopped = (): void => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        resolve({ kind: 'stopped' });
      };
      const answer = (admission: Admission): void => {
        signal.removeEventListener('abort', stopped);
        resolve(admission);
      };
      const waiting: Waiting = { answer };
      this.#queue.push(waiting);
      signal.addEventListener('abort', stopped, { once: true });
      if (this.#next === null) this.#serve();
    });
  }

  readonly #serve = (): void => {
    this.#next = null;
    const { waitMsMax } = this.#limits;
    const heldMs = this.#heldMs;
    while (this.#queue.length > 0) {
      const ms = Math.max(heldMs, this.#msOwn);
      if (ms > 0 && heldMs <= waitMsMax) {
        this.#next = this.#deadlines.after(ms, this.#serve);
        return;
      }
      if (heldMs === 0) this.#spend();
      this.#queue.shift()!.answer(heldMs > 0 ? { kind: 'later', ms: heldMs } : go);
    }
  };
}
