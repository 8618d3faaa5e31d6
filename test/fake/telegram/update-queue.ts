/**
 * The updates that wait for the bot, and the polls that fetch them. Pages:
 * https://core.telegram.org/bots/api#getting-updates, #getupdates and #update. Where the pages are
 * silent, the fake follows the published server: do_get_updates, abort_long_poll and
 * fail_query_conflict in Client.cpp of tdlib/telegram-bot-api; TQueue.cpp of tdlib/td.
 */
import { isForm, readForm } from '../form.ts';
import { fine, refuse, type Answer, type Params } from './wire.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const timeoutSecondsMax = 50;
/** An offset this far past the end is "in the future": it confirms nothing. */
const futureMax = 10;

/** By default every type but these comes. */
const notByDefault = new Set(['chat_member', 'message_reaction', 'message_reaction_count']);

type Kept = { readonly id: number; readonly at: number; readonly update: object };
type OpenPoll = {
  readonly offset: number;
  readonly limit: number;
  readonly timer: NodeJS.Timeout;
  readonly answer: (answer: Answer) => void;
};

export type QueueOptions = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** The milliseconds in a second of Telegram. */
  readonly secondMs: number;
};

export class UpdateQueue {
  /** Numbers of the updates that a higher offset has confirmed, in order. */
  readonly confirmed: number[] = [];
  /** Set by setWebhook; while it is not empty, getUpdates is a conflict. */
  webhookUrl = '';
  #kept: Kept[] = [];
  #nextId: number;
  #lastAddedAt: number;
  #allowed: readonly string[] | null = null;
  #open: OpenPoll | null = null;
  /** While true, no update wakes the open poll. */
  #isHeld = false;
  #previous = { offset: Number.NaN, at: Number.NEGATIVE_INFINITY };
  #nextConflictAt = 0;
  readonly #delays = new Set<NodeJS.Timeout>();
  readonly #options: QueueOptions;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#nextId = this.#randomId();
    this.#lastAddedAt = options.now();
  }

  /** The number of unconfirmed updates, fetched or not. */
  get pending(): number {
    this.#forgetOld();
    return this.#kept.length;
  }

  get isPolled(): boolean {
    return this.#open !== null;
  }

  /**
   * Adds an update. A type that is not allowed is never kept ("this parameter doesn't affect
   * updates created before the call").
   * @returns its update_id; null: the bot did not ask for this type
   */
  add(type: string, value: object): number | null {
    if (!this.#allows(type)) return null;
    const now = this.#options.now();
    // "If there are no new updates for at least a week, then identifier of the next update will be
    // chosen randomly instead of sequentially."
    if (now - this.#lastAddedAt >= 7 * dayMs) this.restartIds();
    this.#lastAddedAt = now;
    const id = this.#nextId++;
    this.#kept.push({ id, at: now, update: { update_id: id, [type]: value } });
    this.#wake();
    return id;
  }

  /**
   * The next update gets another number, as after a quiet week; `id` fixes it. No waiting update is
   * left by then, since updates last a day.
   */
  restartIds(id = this.#randomId()): void {
    this.#kept = [];
    this.#nextId = id;
  }

  /** Forgets all waiting updates (`drop_pending_updates`). */
  drop(): void {
    this.#kept = [];
  }

  getUpdates(params: Params): Promise<Answer> {
    if (this.webhookUrl !== '') {
      return this.#conflict(
        "can't use getUpdates method while webhook is active; use deleteWebhook to delete the " +
          'webhook first',
      );
    }
    const { now, secondMs } = this.#options;
    const offset = integerOf(params['offset'], 0);
    let limit = clamp(integerOf(params['limit'], 100), 1, 100);
    let timeout = clamp(integerOf(params['timeout'], 0), 0, timeoutSecondsMax);
    this.#ask(params['allowed_updates']);
    // A poll that repeats its offset at once is slowed down.
    const sinceSeconds = (now() - this.#previous.at) / secondMs;
    if (offset === this.#previous.offset) {
      if (timeout < 3 && sinceSeconds < 3) timeout = 3;
      if (sinceSeconds < 0.5) limit = 1;
    }
    this.#previous = { offset, at: now() };
    const from = this.#confirm(offset);
    const found = this.#from(from, limit);
    if (timeout === 0 || found.length > 0) return Promise.resolve(fine(found));
    return this.#wait(from, limit, timeout);
  }

  /** One poll delivers all updates of `act`. */
  together<T>(act: () => T): T {
    this.#isHeld = true;
    const result = act();
    this.#isHeld = false;
    this.#wake();
    return result;
  }

  /** A webhook was set: ends the open poll with a conflict. */
  setWebhook(url: string): void {
    this.webhookUrl = url;
    if (url !== '') this.#abort('terminated by setWebhook request');
  }

  close(): void {
    if (this.#open !== null) clearTimeout(this.#open.timer);
    for (const timer of this.#delays) clearTimeout(timer);
    this.#open = null;
  }

  #wait(offset: number, limit: number, timeout: number): Promise<Answer> {
    this.#abort(
      'terminated by other getUpdates request; make sure that only one bot instance is running',
    );
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => this.#wake(true), timeout * this.#options.secondMs);
    this.#open = { offset, limit, timer, answer: resolve };
    return promise;
  }

  #wake(evenEmpty = false): void {
    const poll = this.#open;
    if (poll === null || this.#isHeld) return;
    const found = this.#from(this.#confirm(poll.offset), poll.limit);
    if (found.length === 0 && !evenEmpty) return;
    clearTimeout(poll.timer);
    this.#open = null;
    poll.answer(fine(found));
  }

  #abort(why: string): void {
    const poll = this.#open;
    if (poll === null) return;
    clearTimeout(poll.timer);
    this.#open = null;
    void this.#conflict(why).then(poll.answer);
  }

  /** The first conflict is reported at once, those of the next 3 s are reported 3 s later. */
  #conflict(why: string): Promise<Answer> {
    const answer = refuse(409, `Conflict: ${why}`);
    const { now, secondMs } = this.#options;
    if (now() >= this.#nextConflictAt) {
      this.#nextConflictAt = now() + 3 * secondMs;
      return Promise.resolve(answer);
    }
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => {
      this.#delays.delete(timer);
      resolve(answer);
    }, 3 * secondMs);
    this.#delays.add(timer);
    return promise;
  }

  /** Applies an offset to the queue. @returns the number of the first update to give */
  #confirm(offset: number): number {
    this.#forgetOld();
    const head = this.#kept[0]?.id ?? this.#nextId;
    if (offset < 0) {
      // "Updates starting from -offset update from the end of the queue. All previous updates will
      // be forgotten."
      const first = this.#kept.at(offset)?.id ?? head;
      this.#forget(({ id }) => id < first);
      return first;
    }
    if (offset === 0) return head;
    if (offset > this.#nextId + futureMax) return head;
    // "An update is considered confirmed as soon as getUpdates is called with an offset higher
    // than its update_id."
    this.#forget(({ id }) => id < offset);
    return offset;
  }

  #forget(gone: (update: Kept) => boolean): void {
    this.confirmed.push(...this.#kept.filter(gone).map(({ id }) => id));
    this.#kept = this.#kept.filter((update) => !gone(update));
  }

  /** "They will not be kept longer than 24 hours." */
  #forgetOld(): void {
    const oldest = this.#options.now() - dayMs;
    this.#kept = this.#kept.filter(({ at }) => at > oldest);
  }

  #from(offset: number, limit: number): object[] {
    const found = this.#kept.filter(({ id }) => id >= offset).slice(0, limit);
    return found.map(({ update }) => update);
  }

  /** "If not specified, the previous setting will be used"; an empty list is the default. */
  #ask(wanted: unknown): void {
    const list = typeof wanted === 'string' ? jsonOf(wanted) : wanted;
    if (!Array.isArray(list)) return;
    this.#allowed = list.length === 0 ? null : list.map(String);
  }

  #allows(type: string): boolean {
    if (this.#allowed === null) return !notByDefault.has(type);
    return this.#allowed.includes(type);
  }

  #randomId(): number {
    return 2_000_001 + Math.floor(this.#options.random() * (2 ** 30 - 2_000_001));
  }
}

export function integerOf(value: unknown, absent: number): number {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : absent;
}

function paramsOf(url: URL, body: string, contentType: string): Params | null {
  const query = Object.fromEntries(url.searchParams);
  if (body === '') return query;
  if (!contentType.startsWith('application/json')) {
    return { ...query, ...Object.fromEntries(new URLSearchParams(body)) };
  }
  const json = jsonOf(body);
  if (typeof json !== 'object' || json === null) return null;
  return { ...query, ...json };
}

/** Null: the body does not match its type. */
export async function readParams(url: URL, body: Buffer, type = ''): Promise<Params | null> {
  if (!isForm(type)) return paramsOf(url, body.toString('utf8'), type);
  const form = await readForm(body, type);
  if (form === null) return null;
  const files = Object.fromEntries(form.files.map((file) => [file.field, file]));
  return { ...Object.fromEntries(url.searchParams), ...form.fields, ...files };
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const clamp = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), most);
