/**
 * When the bot may send (https://core.telegram.org/bots/faq, "My bot is hitting limits"). Telegram
 * takes about 30 messages a second in all, one a second in a chat with short bursts, and 20 a
 * minute in a group. svc stays below each limit in any second and any minute.
 *
 * A message takes the chat's place first, then the bot's place, in the order of asking. A message
 * that would wait longer than a moment for its chat is sent away with a time. So a slow group
 * delays nobody else.
 */
import { later, type SteadyTime } from '../../lib/clock.ts';
import { pauseUntil, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import {
  fullAfterOne,
  msUntilOne,
  Window,
  LowPriorityQueue,
  type RateLimit,
} from '../messenger/rate-limits.ts';

export type RateLimits = {
  /** Spreads messages evenly. */
  readonly bot: RateLimit;
  /**
   * The most messages in any second, even if the first previews of many replies come close
   * together.
   */
  readonly secondMax: number;
  readonly drafts: RateLimit;
  readonly person: RateLimit;
  readonly group: RateLimit;
  /** The longest wait of a message before it is sent away. */
  readonly waitMsMax: number;
};

export const rateLimits: RateLimits = {
  bot: { everyMs: 36, burst: 2 },
  secondMax: 29,
  drafts: { everyMs: 36, burst: 50 },
  person: { everyMs: 1_050, burst: 3 },
  group: { everyMs: 4_000, burst: 4 },
  waitMsMax: 2_000,
};

/**
 * The room that growing previews leave for replies and for first previews of other replies. For
 * messages it is as many as these had in the last second, plus this number.
 */
const reserved = { messages: 6, drafts: 30 } as const;
/** The number of edits a second that growing previews may always have. */
const growthMin = 4;

/**
 * The kinds of best-effort calls. `notice`: "typing…" or eyes, which count as no message of their
 * chat. `draft`: counts as no message at all.
 */
export type Spare = 'message' | 'notice' | 'draft';

/** `later`: `ms` milliseconds must pass first. */
export type Admission =
  | { readonly kind: 'go' | 'stopped' }
  | { readonly kind: 'later'; readonly ms: number };

export interface RateLimiter {
  /**
   * Resolves with `go` when one message may be sent to that chat.
   * @param waitMsMax the longest wait for the chat, in milliseconds; absent: moments
   */
  admit(chat: number, signal: AbortSignal, waitMsMax?: number): Promise<Admission>;
  /**
   * Takes room that no reply needs, for a best-effort call. Calls go in the order of asking, as far
   * as their chats have room. One place stays free for a reply, and every waiting reply goes first.
   * @param kind absent: a message
   * @param isFirst whether this is the first preview of a reply, which goes before all other
   *   best-effort calls
   * @returns false: the signal aborted first
   */
  spare(chat: number, signal: AbortSignal, kind?: Spare, isFirst?: boolean): Promise<boolean>;
  /** The platform asked for a pause; svc sends nothing during it. */
  pauseFor(ms: number): void;
}

export type RateLimiterDeps = {
  readonly steady: () => SteadyTime;
  readonly deadlines: Deadlines;
  readonly limits?: Partial<RateLimits>;
};

export function createRateLimiter(deps: RateLimiterDeps): RateLimiter {
  return new BotRateLimiter(deps);
}

/** Before one more chat is stored, the chats with a full limit are removed. */
const chatsMax = 4_096;

const go: Admission = { kind: 'go' };

type Waiting = { readonly answer: (admission: Admission) => void };

class BotRateLimiter implements RateLimiter {
  readonly #steady: () => SteadyTime;
  readonly #deadlines: Deadlines;
  readonly #limits: RateLimits;
  /** When the bot's limit is full again. */
  #full: SteadyTime;
  #pausedUntil: SteadyTime;
  /** When each chat's limit is full again; the limit of a missing chat is full. */
  readonly #chats = new Map<number, SteadyTime>();
  /** Messages that have their chat's place and wait for the bot's. */
  readonly #queue: Waiting[] = [];
  #next: Deadline | null = null;
  readonly #bestEffortQueue: LowPriorityQueue;
  /** All messages of the last second, and the growing edits among them. */
  readonly #window: Window;
  readonly #growth: Window;
  /** When the limit of drafts is full again. */
  #draftsFull: SteadyTime;
  readonly #draftQueue: LowPriorityQueue;

  constructor({ steady, deadlines, limits }: RateLimiterDeps) {
    this.#steady = steady;
    this.#deadlines = deadlines;
    this.#limits = { ...rateLimits, ...limits };
    this.#full = this.#pausedUntil = this.#draftsFull = steady();
    this.#window = new Window(this.#limits.secondMax, 1_000);
    this.#growth = new Window(this.#limits.secondMax, 1_000);
    this.#bestEffortQueue = new LowPriorityQueue(deadlines, (isFirst) =>
      this.#msUntilSpare(isFirst),
    );
    this.#draftQueue = new LowPriorityQueue(deadlines, (isFirst) => this.#msUntilDraft(isFirst));
  }

  async admit(
    chat: number,
    signal: AbortSignal,
    waitMsMax = this.#limits.waitMsMax,
  ): Promise<Admission> {
    if (signal.aborted) return { kind: 'stopped' };
    const rateLimit = this.#rateLimitOf(chat);
    const chatMs = this.#msUntil(this.#chats.get(chat), rateLimit);
    const ms = Math.max(chatMs, this.#pauseMs);
    if (ms > waitMsMax) return { kind: 'later', ms };
    this.#takeOf(chat, rateLimit);
    if (chatMs === 0 && this.#takeIfFree()) return go;
    return chatMs === 0 ? this.#queueReply(signal) : this.#afterChat(chatMs, signal);
  }

  async spare(
    chat: number,
    signal: AbortSignal,
    kind: Spare = 'message',
    isFirst = false,
  ): Promise<boolean> {
    if (kind === 'draft') return this.#draftQueue.next(this.#takeDraft, signal, isFirst);
    const rateLimit = this.#rateLimitOf(chat);
    const chatWaitMs = (): number => this.#msUntil(this.#chats.get(chat), rateLimit, 1);
    const take = (): boolean => {
      // A reply to that chat may have come first.
      if (chatWaitMs() > 0) return false;
      // First previews may come close together; other messages stay as even as without them.
      if (!isFirst) this.#full = fullAfterOne(this.#full, this.#limits.bot, this.#steady());
      if (kind === 'notice') return true;
      this.#takeOf(chat, rateLimit);
      this.#window.take(this.#steady());
      if (!isFirst) this.#growth.take(this.#steady());
      return true;
    };
    while (!signal.aborted) {
      const ms = chatWaitMs();
      if (ms > 0) await pauseUntil(this.#deadlines, ms, signal);
      else if (await this.#bestEffortQueue.next(take, signal, isFirst)) return true;
    }
    return false;
  }

  readonly #takeDraft = (): boolean => {
    this.#draftsFull = fullAfterOne(this.#draftsFull, this.#limits.drafts, this.#steady());
    return true;
  };

  pauseFor(ms: number): void {
    const until = later(this.#steady(), ms);
    if (until > this.#pausedUntil) this.#pausedUntil = until;
  }

  get #pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#steady());
  }

  /** The ids of groups and channels are negative. */
  #rateLimitOf(chat: number): RateLimit {
    return chat < 0 ? this.#limits.group : this.#limits.person;
  }

  #msUntil(full: SteadyTime | undefined, rateLimit: RateLimit, spare = 0): number {
    return msUntilOne(full, rateLimit, this.#steady(), spare);
  }

  /** Milliseconds until the bot may send a reply. */
  get #msUntilReply(): number {
    const ms = this.#msUntil(this.#full, this.#limits.bot);
    return Math.max(ms, this.#window.msUntilOne(this.#steady()));
  }

  #msUntilSpare(isFirst: boolean): number {
    const { bot } = this.#limits;
    const windowMs = Math.max(this.#pauseMs, this.#window.msUntilOne(this.#steady(), 1));
    const waiting = this.#queue.length;
    if (isFirst) {
      const repliesMs = waiting === 0 ? 0 : this.#msUntilReply + (waiting - 1) * bot.everyMs + 1;
      return Math.max(windowMs, repliesMs);
    }
    const botMs = this.#msUntil(this.#full, bot, 1) + waiting * bot.everyMs;
    return Math.max(windowMs, botMs, this.#msUntilGrowth);
  }

  get #msUntilGrowth(): number {
    const { secondMax } = this.#limits;
    const now = this.#steady();
    const others = this.#window.count(now) - this.#growth.count(now);
    const most = secondMax - others - reserved.messages;
    return this.#growth.msUntilOne(now, secondMax - Math.max(most, growthMin));
  }

  #msUntilDraft(isFirst: boolean): number {
    const spare = isFirst ? 0 : reserved.drafts;
    const ms = this.#msUntil(this.#draftsFull, this.#limits.drafts, spare);
    return Math.max(this.#pauseMs, ms);
  }

  #takeOf(chat: number, rateLimit: RateLimit): void {
    const now = this.#steady();
    const full = this.#chats.get(chat);
    if (full === undefined && this.#chats.size >= chatsMax) this.#forget(now);
    this.#chats.set(chat, fullAfterOne(full, rateLimit, now));
  }

  /**
   * Removes chats with a full limit. The bot's limit is so small that only a few hundred chats can
   * have less.
   */
  #forget(now: SteadyTime): void {
    for (const [chat, full] of this.#chats) if (full <= now) this.#chats.delete(chat);
  }

  /** @returns whether the bot may send now and no message waits */
  #takeIfFree(): boolean {
    if (this.#queue.length > 0 || this.#pauseMs > 0 || this.#msUntilReply > 0) return false;
    this.#spend();
    return true;
  }

  #spend(): void {
    this.#full = fullAfterOne(this.#full, this.#limits.bot, this.#steady());
    this.#window.take(this.#steady());
  }

  async #afterChat(ms: number, signal: AbortSignal): Promise<Admission> {
    await pauseUntil(this.#deadlines, ms, signal);
    if (signal.aborted) return { kind: 'stopped' };
    return this.#takeIfFree() ? go : this.#queueReply(signal);
  }

  #queueReply(signal: AbortSignal): Promise<Admission> {
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
    const pauseMs = this.#pauseMs;
    while (this.#queue.length > 0) {
      const ms = Math.max(pauseMs, this.#msUntilReply);
      if (ms > 0 && pauseMs <= waitMsMax) {
        this.#next = this.#deadlines.after(ms, this.#serve);
        return;
      }
      if (pauseMs === 0) this.#spend();
      this.#queue.shift()!.answer(pauseMs > 0 ? { kind: 'later', ms: pauseMs } : go);
    }
  };
}
