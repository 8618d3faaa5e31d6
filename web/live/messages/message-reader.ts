/** Fills the message list of one filter from the API and the events. */
import type { Page } from '../../../src/domain/page.ts';
import type { MessageFilter, MessageRow } from '../../../src/domain/records.ts';
import { ask, type Answered, type Refused } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';
import { listen, type PageEvent } from '../feed.ts';
import { queryOf } from './message-filter.ts';
import { MessageList } from './message-list.ts';

/** Rows are rendered at most this often, with any number of events. */
const showEveryMs = 200;
export const pageRows = 200;
/** The most readers that receive events: the shown one, and those that Back can return to. */
const listeningMax = 3;

export type Shown = {
  readonly rows: readonly MessageRow[];
  readonly refused: Refused | null;
  readonly asking: boolean;
  readonly next: string | null;
  readonly lastWasEmpty: boolean;
};

const nothing: Shown = {
  rows: [],
  refused: null,
  asking: true,
  next: null,
  lastWasEmpty: false,
};

const listening = new Set<MessageReader>();

useToken.subscribe(() => {
  for (const one of listening) one.end();
});

/**
 * Reads pages and applies events to a list. It continues while it is hidden, so that Back finds
 * current rows. A reader that was ended starts again when it is shown.
 */
export class MessageReader {
  readonly list = new MessageList(() => performance.now());
  readonly filter: MessageFilter;
  shown = nothing;
  #show: ((shown: Shown) => void) | null = null;
  #leave: (() => void) | null = null;
  #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the cursor to older messages is known. */
  #isCursorKnown = false;
  /** Time of the request whose newest messages are shown. */
  #newestAskedAt = -Infinity;

  constructor(filter: MessageFilter) {
    this.filter = filter;
  }

  /**
   * Shows the rows now and after each change.
   * @returns a function that stops the updates
   */
  attach(show: (shown: Shown) => void): () => void {
    this.#leave ??= this.#listen();
    // The last one in the order was shown last.
    listening.delete(this);
    listening.add(this);
    const [oldest] = listening;
    if (listening.size > listeningMax) oldest?.end();
    this.#show = show;
    this.#update({ rows: this.list.matching(this.filter) });
    return () => {
      if (this.#show === show) this.#show = null;
    };
  }

  end(): void {
    listening.delete(this);
    this.#leave?.();
    this.#leave = null;
    this.#ending.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // It reads all of it again when it is shown, so it keeps no memory until then.
    this.#clear();
    this.shown = nothing;
  }

  async newest(): Promise<void> {
    await this.#read(null);
  }

  async older(): Promise<void> {
    if (this.shown.next !== null) await this.#read(this.shown.next);
  }

  /**
   * Finds the end of a span that has the oldest messages of a filter, at least `limit` of them.
   * @returns null: no span has more; undefined: svc refused, and the page shows it
   */
  async endOfOldest(filter: MessageFilter, limit: number): Promise<number | null | undefined> {
    for (let after: string | null = null; ;) {
      const query: string = queryOf(filter, { after, limit, order: 'oldest' });
      const answer: Answered<Page<MessageRow>> = await ask(`messages${query}`);
      if (answer.kind === 'refused') {
        this.#update({ refused: answer });
        return undefined;
      }
      const { rows, next } = answer.value;
      if (next === null) return null;
      if (rows.length > 0) return rows.at(-1)!.acceptedAt + 1;
      // svc looks through a bounded number of rows for a page.
      after = next;
    }
  }

  /** Starts with an empty list, since it knows no events of the time when it did not listen. */
  #listen(): () => void {
    this.#ending = new AbortController();
    this.#clear();
    return listen((liveEvent) => this.#apply(liveEvent));
  }

  #clear(): void {
    this.list.clear();
    this.#isCursorKnown = false;
    this.#newestAskedAt = -Infinity;
  }

  #apply(liveEvent: PageEvent): void {
    if (liveEvent.kind === 'dropped') {
      this.#clear();
      if (this.#show !== null) void this.newest();
    } else if (this.list.apply(liveEvent)) this.#showSoon();
  }

  #update(change: Partial<Shown>): void {
    this.shown = { ...this.shown, ...change };
    this.#show?.(this.shown);
  }

  async #read(after: string | null): Promise<void> {
    const { signal } = this.#ending;
    const askedAt = performance.now();
    const path = `messages${queryOf(this.filter, { after, limit: pageRows })}`;
    const answer = await ask<Page<MessageRow>>(path, { signal });
    if (signal.aborted) return;
    // The answer to a later request may have arrived already.
    if (after === null && askedAt < this.#newestAskedAt) return;
    if (answer.kind === 'refused') {
      this.#update({ refused: answer, asking: false });
      return;
    }
    if (after === null) this.#newestAskedAt = askedAt;
    const { rows, next } = answer.value;
    const isOld =
      after === null
        ? this.list.addNewest(rows, askedAt, this.filter, next === null)
        : this.list.addPage(rows, askedAt);
    // After a gap the newest are read again; the cursor for older ones is known by then.
    const movesEnd = after !== null || !this.#isCursorKnown;
    this.#isCursorKnown = true;
    this.#update({
      rows: this.list.matching(this.filter),
      refused: null,
      asking: false,
      next: movesEnd ? next : this.shown.next,
      lastWasEmpty: rows.length === 0,
    });
    if (isOld) await this.#read(after);
  }

  #showSoon(): void {
    if (this.#show === null) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#update({ rows: this.list.matching(this.filter) });
    }, showEveryMs);
  }
}
