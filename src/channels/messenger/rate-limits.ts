/**
 * A queue for best-effort calls, and the rate limits that it draws on. Each call takes room
 * that no reply needs, in the order of asking. So more callers mean a longer time between two turns
 * of one caller. The first preview of a reply goes before all others.
 */
import { pause } from '../../lib/backoff.ts';
import { pauseUntil, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import type { Admission, Room, Spare } from './platform.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';

type Waiting = { readonly serve: () => void };

export class LowPriorityQueue {
  readonly #deadlines: Deadlines;
  readonly #msUntilOne: (isFirst: boolean) => number;
  readonly #firsts: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #next: Deadline | null = null;

  /** @param msUntilFree milliseconds until the first waiting call of that kind may go; 0: now */
  constructor(deadlines: Deadlines, msUntilFree: (isFirst: boolean) => number) {
    this.#deadlines = deadlines;
    this.#msUntilOne = msUntilFree;
  }

  /**
   * @param take takes the room at once; false: there is none any more
   * @param isFirst whether this is the first preview of a reply
   * @returns whether the call may go; false also if the signal aborted first
   */
  next(take: () => boolean, signal: AbortSignal, isFirst = false): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const queue = isFirst ? this.#firsts : this.#others;
      const stopped = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        resolve(false);
      };
      const waiting: Waiting = {
        serve: () => {
          signal.removeEventListener('abort', stopped);
          resolve(take());
        },
      };
      queue.push(waiting);
      signal.addEventListener('abort', stopped, { once: true });
      // The planned time is for the other calls.
      if (isFirst) this.#next?.cancel();
      if (isFirst || this.#next === null) this.#serve();
    });
  }

  readonly #serve = (): void => {
    this.#next = null;
    for (;;) {
      const isFirst = this.#firsts.length > 0;
      const queue = isFirst ? this.#firsts : this.#others;
      if (queue.length === 0) return;
      const ms = this.#msUntilOne(isFirst);
      if (ms > 0) {
        this.#next = this.#deadlines.after(ms, this.#serve);
        return;
      }
      queue.shift()!.serve();
    }
  };
}

// How much a platform accepts in a time. A rate limit is one number: the time at which it is full
// again (the generic cell rate algorithm). Each message delays that time by `everyMs`. A window
// counts.

/** One message each `everyMs` milliseconds, and `burst` messages at once after a rest. */
export type RateLimit = { readonly everyMs: number; readonly burst: number };

/**
 * @param full when the limit is full again; undefined: it is full
 * @param spare how many messages must stay possible
 * @returns milliseconds until one may go; 0: now
 */
export function msUntilOne(
  full: SteadyTime | undefined,
  { everyMs, burst }: RateLimit,
  now: SteadyTime,
  spare = 0,
): number {
  if (full === undefined) return 0;
  return Math.max(0, full - now - everyMs * (burst - 1 - spare));
}

/** When the limit is full again after one more message. */
export function fullAfterOne(
  full: SteadyTime | undefined,
  { everyMs }: RateLimit,
  now: SteadyTime,
): SteadyTime {
  return later(full === undefined || full < now ? now : full, everyMs);
}

/** Allows a number of messages in any period of a given length, however close together they are. */
export class Window {
  readonly #ms: number;
  /** A ring of the times of the last messages. */
  readonly #times: number[];
  #next = 0;

  constructor(most: number, ms: number) {
    this.#ms = ms;
    this.#times = Array.from({ length: most }, () => -Infinity);
  }

  /**
   * @param spare how many messages must stay possible; less than the size of the window
   * @returns milliseconds until one may go; 0: now
   */
  msUntilOne(now: SteadyTime, spare = 0): number {
    const oldest = this.#times[(this.#next + spare) % this.#times.length]!;
    return Math.max(0, oldest + this.#ms - now);
  }

  /** How many messages went out in the last period. */
  count(now: SteadyTime): number {
    return this.#times.filter((at) => at + this.#ms > now).length;
  }

  take(now: SteadyTime): void {
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % this.#times.length;
  }
}

/** Back-off windows after a 429: until when svc makes no call of each kind. */
export class BackoffWindows<Kind extends string> {
  readonly #steady: () => SteadyTime;
  readonly #until = new Map<Kind, SteadyTime>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  start(kind: Kind, ms: number): void {
    const until = later(this.#steady(), ms);
    if (until > (this.#until.get(kind) ?? 0)) this.#until.set(kind, until);
  }

  isActive(kind: Kind): boolean {
    return this.remainingMs(kind) > 0;
  }

  /** How many milliseconds the window still lasts; 0: it is over. */
  remainingMs(kind: Kind): number {
    const until = this.#until.get(kind);
    return until === undefined ? 0 : Math.max(0, until - this.#steady());
  }
}

// The room of a bot whose chats have limits of their own. A message takes the chat's place first,
// then the bot's place, in the order of asking. A message that would wait longer than a moment for
// its chat is sent away with a time. So a slow group delays nobody else.

export type RoomLimits = {
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

/**
 * The room that growing previews leave for replies and for first previews of other replies.
 * `messages`: as many as these took in the last second, and this number more.
 */
const previewReserve = { messages: 6, drafts: 30 } as const;
/** The number of edits a second that growing previews may always have. */
const growthMin = 4;

export type ChatRoomDeps<T> = {
  readonly steady: () => SteadyTime;
  readonly deadlines: Deadlines;
  readonly limits: RoomLimits;
  /** The platform's id of the chat. */
  readonly chatOf: (target: T) => number | string;
  readonly isGroup: (target: T) => boolean;
};

/** Before one more chat is stored, the chats with a full limit are removed. */
const chatsMax = 4_096;

const go: Admission = { kind: 'go' };

type WaitingReply = { readonly answer: (admission: Admission) => void };

export class ChatRoom<T> implements Room<T> {
  readonly #deps: ChatRoomDeps<T>;
  readonly #steady: () => SteadyTime;
  readonly #deadlines: Deadlines;
  readonly #limits: RoomLimits;
  /** When the bot's limit is full again. */
  #full: SteadyTime;
  #pausedUntil: SteadyTime;
  /** When each chat's limit is full again; the limit of a missing chat is full. */
  readonly #chats = new Map<number | string, SteadyTime>();
  /** Messages that have their chat's place and wait for the bot's. */
  readonly #queue: WaitingReply[] = [];
  #next: Deadline | null = null;
  readonly #bestEffortQueue: LowPriorityQueue;
  /** All messages of the last second, and the growing edits among them. */
  readonly #window: Window;
  readonly #growth: Window;
  /** When the limit of drafts is full again. */
  #draftsFull: SteadyTime;
  readonly #draftQueue: LowPriorityQueue;

  constructor(deps: ChatRoomDeps<T>) {
    const { steady, deadlines, limits } = deps;
    this.#deps = deps;
    this.#steady = steady;
    this.#deadlines = deadlines;
    this.#limits = limits;
    this.#full = this.#pausedUntil = this.#draftsFull = steady();
    this.#window = new Window(this.#limits.secondMax, 1_000);
    this.#growth = new Window(this.#limits.secondMax, 1_000);
    this.#bestEffortQueue = new LowPriorityQueue(deadlines, (isFirst) =>
      this.#msUntilSpare(isFirst),
    );
    this.#draftQueue = new LowPriorityQueue(deadlines, (isFirst) => this.#msUntilDraft(isFirst));
  }

  async admit(
    target: T,
    signal: AbortSignal,
    waitMsMax = this.#limits.waitMsMax,
  ): Promise<Admission> {
    if (signal.aborted) return { kind: 'stopped' };
    const chat = this.#deps.chatOf(target);
    const rateLimit = this.#rateLimitOf(target);
    const chatMs = this.#msUntil(this.#chats.get(chat), rateLimit);
    const ms = Math.max(chatMs, this.#pauseMs);
    if (ms > waitMsMax) return { kind: 'later', ms };
    this.#takeOf(chat, rateLimit);
    if (chatMs === 0 && this.#takeIfFree()) return go;
    return chatMs === 0 ? this.#queueReply(signal) : this.#afterChat(chatMs, signal);
  }

  async spare(
    target: T,
    signal: AbortSignal,
    kind: Spare = 'message',
    isFirst = false,
  ): Promise<boolean> {
    if (kind === 'draft') return this.#draftQueue.next(this.#takeDraft, signal, isFirst);
    const chat = this.#deps.chatOf(target);
    const rateLimit = this.#rateLimitOf(target);
    const chatWaitMs = (): number => this.#msUntil(this.#chats.get(chat), rateLimit, 1);
    const take = (): boolean => {
      // A reply to that chat may have come first.
      if (chatWaitMs() > 0) return false;
      // First previews may come close together. They do not change the pace of the others.
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

  #rateLimitOf(target: T): RateLimit {
    return this.#deps.isGroup(target) ? this.#limits.group : this.#limits.person;
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
    const most = secondMax - others - previewReserve.messages;
    return this.#growth.msUntilOne(now, secondMax - Math.max(most, growthMin));
  }

  #msUntilDraft(isFirst: boolean): number {
    const spare = isFirst ? 0 : previewReserve.drafts;
    const ms = this.#msUntil(this.#draftsFull, this.#limits.drafts, spare);
    return Math.max(this.#pauseMs, ms);
  }

  #takeOf(chat: number | string, rateLimit: RateLimit): void {
    const now = this.#steady();
    const full = this.#chats.get(chat);
    if (full === undefined && this.#chats.size >= chatsMax) this.#forget(now);
    this.#chats.set(chat, fullAfterOne(full, rateLimit, now));
  }

  /**
   * Removes chats with a full limit. The bot's limit is so small that only a few hundred chats can
   * have another.
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
      const waiting: WaitingReply = { answer };
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

export type BotRates = {
  readonly limit: RateLimit;
  /** The places that stay free for replies: beside a first preview, and beside other calls. */
  readonly reserved: { readonly first: number; readonly other: number };
  /** Requests to these addresses do not count. */
  readonly uncounted: RegExp;
};

/**
 * When a bot may send its next request, if one limit is for all of them. svc sends evenly and below
 * that limit, so no window of the platform has too many, even if some requests arrive late.
 */
export class BotRateLimiter {
  readonly #steady: () => SteadyTime;
  readonly #rates: BotRates;
  /** When the bot's limit is full again. */
  #full: SteadyTime;

  readonly #bestEffortQueue: LowPriorityQueue;

  constructor(steady: () => SteadyTime, deadlines: Deadlines, rates: BotRates) {
    this.#steady = steady;
    this.#rates = rates;
    this.#full = steady();
    this.#bestEffortQueue = new LowPriorityQueue(deadlines, (isFirst) => {
      const { limit, reserved } = rates;
      return msUntilOne(this.#full, limit, steady(), isFirst ? reserved.first : reserved.other);
    });
  }

  /**
   * Waits for a place; places go out in the order of asking.
   * @param waitMsMax the longest wait, in milliseconds
   * @returns null: the request may go, unless the signal has aborted; else the milliseconds until
   *   the next try
   */
  async admit(url: string, waitMsMax: number, signal?: AbortSignal | null): Promise<number | null> {
    const { limit, uncounted } = this.#rates;
    if (uncounted.test(url)) return null;
    const now = this.#steady();
    const ms = msUntilOne(this.#full, limit, now);
    if (ms > waitMsMax) return ms;
    this.#full = fullAfterOne(this.#full, limit, now);
    if (ms > 0) await pause(ms, signal ?? new AbortController().signal);
    return null;
  }

  /**
   * Takes a place for a best-effort call, and leaves some free.
   * @param isFirst whether it is for the first preview of a reply, which goes before the others
   * @returns false: the signal aborted first
   */
  spare(signal: AbortSignal, isFirst = false): Promise<boolean> {
    const take = (): boolean => {
      this.#full = fullAfterOne(this.#full, this.#rates.limit, this.#steady());
      return true;
    };
    return this.#bestEffortQueue.next(take, signal, isFirst);
  }
}
