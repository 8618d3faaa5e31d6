import type { Page } from '../../../src/domain/page.ts';
import type { MessageFilter, MessageRow } from '../../../src/domain/records.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';
import { listen, type PageEvent } from '../feed.ts';
import { queryOf } from './message-filter.ts';
import { MessageList } from './message-list.ts';

/** However many events come, rows are shown anew at most so often. */
const showEveryMs = 200;
const pageRows = 200;
/** So many hear events, the one that is shown and those that Back leads to. */
const hearingMax = 3;

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

const hearing = new Set<MessageReader>();

useToken.subscribe(() => {
  for (const one of hearing) one.end();
});

/**
 * Reads pages and hears events into a list. It goes on hearing while it is not shown, so that Back
 * finds the same rows as they are then; one that was ended begins anew when it is shown again.
 */
export class MessageReader {
  readonly list = new MessageList(() => performance.now());
  readonly filter: MessageFilter;
  shown = nothing;
  #show: ((shown: Shown) => void) | null = null;
  #leave: (() => void) | null = null;
  #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the way to older messages is known. */
  #reached = false;
  /** When the newest messages that are shown were asked for. */
  #newestOf = -Infinity;

  constructor(filter: MessageFilter) {
    this.filter = filter;
  }

  /** @returns what leaves off telling */
  attach(show: (shown: Shown) => void): () => void {
    this.#leave ??= this.#begin();
    // The last in the order was shown last.
    hearing.delete(this);
    hearing.add(this);
    const [oldest] = hearing;
    if (hearing.size > hearingMax) oldest?.end();
    this.#show = show;
    this.#tell({ rows: this.list.matching(this.filter) });
    return () => {
      if (this.#show === show) this.#show = null;
    };
  }

  end(): void {
    hearing.delete(this);
    this.#leave?.();
    this.#leave = null;
    this.#ending.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async newest(): Promise<void> {
    await this.#read(null);
  }

  async older(): Promise<void> {
    if (this.shown.next !== null) await this.#read(this.shown.next);
  }

  /** What came while nobody heard is not known. */
  #begin(): () => void {
    this.#ending = new AbortController();
    this.#forget();
    return listen((liveEvent) => this.#heard(liveEvent));
  }

  #forget(): void {
    this.list.clear();
    this.#reached = false;
    this.#newestOf = -Infinity;
  }

  #heard(liveEvent: PageEvent): void {
    if (liveEvent.kind === 'dropped') {
      this.#forget();
      if (this.#show !== null) void this.newest();
    } else if (this.list.apply(liveEvent)) this.#showSoon();
  }

  #tell(change: Partial<Shown>): void {
    this.shown = { ...this.shown, ...change };
    this.#show?.(this.shown);
  }

  async #read(after: string | null): Promise<void> {
    const { signal } = this.#ending;
    const askedAt = performance.now();
    const path = `messages${queryOf(this.filter, after, pageRows)}`;
    const answer = await ask<Page<MessageRow>>(path, { signal });
    if (signal.aborted) return;
    // The answer to a later question may be here already.
    if (after === null && askedAt < this.#newestOf) return;
    if (answer.kind === 'refused') {
      this.#tell({ refused: answer, asking: false });
      return;
    }
    if (after === null) this.#newestOf = askedAt;
    const { rows, next } = answer.value;
    const isOld =
      after === null
        ? this.list.addNewest(rows, askedAt, this.filter, next === null)
        : this.list.addPage(rows, askedAt);
    // After a gap the newest are read again; the way to the oldest is known by then.
    const movesEnd = after !== null || !this.#reached;
    this.#reached = true;
    this.#tell({
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
      this.#tell({ rows: this.list.matching(this.filter) });
    }, showEveryMs);
  }
}
