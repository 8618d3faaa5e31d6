import { useCallback, useEffect, useRef, useState } from 'react';
import type { Page } from '../../../src/domain/page.ts';
import type { MessageFilter, MessageRow } from '../../../src/domain/records.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { listen, useFeed, type LiveFrame } from '../feed.ts';
import { queryOf } from './message-filter.ts';
import { MessageList } from './message-list.ts';

/** However many events come, rows are shown anew at most so often. */
const showEveryMs = 200;
/** How often to ask where the stream does not open, so that there is something to see. */
const askEveryMs = 5_000;
const pageRows = 200;

export type Messages = {
  readonly list: MessageList;
  /** Those that match, newest first. */
  readonly rows: readonly MessageRow[];
  readonly refused: Refused | null;
  /** Before the first answer. */
  readonly asking: boolean;
  /** Asks for older messages; null: there are none, or they are being asked for. */
  readonly older: (() => void) | null;
  /** A page that was asked for held nothing: only a person asks for the next one. */
  readonly lastWasEmpty: boolean;
};

type Shown = {
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

/**
 * The messages of a filter, kept up to date by the stream of events.
 * @param filter stays the same for as long as the component is shown
 */
export function useMessages(filter: MessageFilter): Messages {
  const isOpen = useFeed(({ state }) => state === 'open');
  const [list] = useState(() => new MessageList(() => performance.now()));
  const [shown, setShown] = useState(nothing);
  const [olderAsked, setOlderAsked] = useState(false);
  const reader = useRef<Reader | null>(null);
  useEffect(() => {
    const one = new Reader(list, filter, setShown);
    reader.current = one;
    const leave = listen((frame) => one.heard(frame));
    return () => {
      leave();
      one.end();
    };
  }, [list, filter]);
  useEffect(() => {
    // Nothing is missed once the stream is open, so what was before is read then.
    void reader.current?.newest();
    if (isOpen) return undefined;
    const timer = setInterval(() => void reader.current?.newest(), askEveryMs);
    return () => clearInterval(timer);
  }, [isOpen]);
  const { rows, refused, asking, next, lastWasEmpty } = shown;
  const older = useCallback(() => {
    setOlderAsked(true);
    void reader.current?.older(next).finally(() => setOlderAsked(false));
  }, [next]);
  const canGoOn = next !== null && !olderAsked && !list.isFull;
  return { list, rows, refused, asking, older: canGoOn ? older : null, lastWasEmpty };
}

/** Reads pages and hears events into a list, until it is ended. */
class Reader {
  readonly #list: MessageList;
  readonly #filter: MessageFilter;
  readonly #show: (change: (before: Shown) => Shown) => void;
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the way to older messages is known. */
  #reached = false;
  /** When the newest messages that are shown were asked for. */
  #newestOf = -Infinity;

  constructor(
    list: MessageList,
    filter: MessageFilter,
    show: (change: (before: Shown) => Shown) => void,
  ) {
    this.#list = list;
    this.#filter = filter;
    this.#show = show;
  }

  end(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
  }

  heard(frame: LiveFrame): void {
    if (frame.kind === 'dropped') {
      this.#list.clear();
      this.#reached = false;
      void this.newest();
    } else if (this.#list.apply(frame)) this.#showSoon();
  }

  async newest(): Promise<void> {
    await this.#read(null);
  }

  async older(after: string | null): Promise<void> {
    if (after !== null) await this.#read(after);
  }

  async #read(after: string | null): Promise<void> {
    const { signal } = this.#ending;
    const askedAt = performance.now();
    const path = `messages${queryOf(this.#filter, after, pageRows)}`;
    const answer = await ask<Page<MessageRow>>(path, { signal });
    if (signal.aborted) return;
    // The answer to a later question may be here already.
    if (after === null && askedAt < this.#newestOf) return;
    if (answer.kind === 'refused') {
      this.#show((before) => ({ ...before, refused: answer, asking: false }));
      return;
    }
    if (after === null) this.#newestOf = askedAt;
    const { rows, next } = answer.value;
    const isOld =
      after === null
        ? this.#list.addNewest(rows, askedAt, this.#filter, next === null)
        : this.#list.addPage(rows, askedAt);
    // After a gap the newest are read again; the way to the oldest is known by then.
    const movesEnd = after !== null || !this.#reached;
    this.#reached = true;
    this.#show((before) => ({
      rows: this.#list.matching(this.#filter),
      refused: null,
      asking: false,
      next: movesEnd ? next : before.next,
      lastWasEmpty: rows.length === 0,
    }));
    if (isOld) await this.#read(after);
  }

  #showSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show((before) => ({ ...before, rows: this.#list.matching(this.#filter) }));
    }, showEveryMs);
  }
}
