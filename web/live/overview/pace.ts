/** How many messages were accepted in each minute: from the API at first, then by events. */
import { useEffect, useRef, useState } from 'react';
import { timeOfId } from '../../../src/domain/ids.ts';
import type { Page } from '../../../src/domain/page.ts';
import type { MessageRow } from '../../../src/domain/records.ts';
import { ask } from '../../kit/api.ts';
import { listen, useFeed } from '../feed.ts';

const minuteMs = 60_000;
const showEveryMs = 1_000;
/** At most so many pages of earlier messages are read; what is older stays unknown. */
const pagesMost = 4;
const pageRows = 500;

export type Minute = {
  /** When the minute began, milliseconds since 1970. */
  readonly at: number;
  /** null: the page does not know. */
  readonly messages: number | null;
};

/** The last minutes; the current one comes last. */
export function usePace(minutes: number): readonly Minute[] {
  const isOpen = useFeed(({ state }) => state === 'open');
  const [shown, setShown] = useState<readonly Minute[]>([]);
  const current = useRef<Pace | null>(null);
  useEffect(() => {
    const pace = new Pace(minutes);
    current.current = pace;
    const leave = listen((frame) => {
      if (frame.kind === 'message_accepted' && !frame.duplicate) pace.heard(frame);
      else if (frame.kind === 'dropped') void pace.readBack();
    });
    void pace.readBack();
    const timer = setInterval(() => setShown(pace.minutesUntil(Date.now())), showEveryMs);
    return () => {
      leave();
      pace.end();
      clearInterval(timer);
    };
  }, [minutes]);
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    // Nothing is missed once the stream is open, so what was before is read then.
    if (isOpen && !wasOpen.current) void current.current?.readBack();
    wasOpen.current = isOpen;
  }, [isOpen]);
  return shown;
}

export class Pace {
  readonly #minutes: number;
  /** The reading under way, or the last one. */
  #reading = new AbortController();
  /** Ids that were read or heard of meanwhile: an event may come after its own row was read. */
  #counted = new Set<string>();
  #isReading = false;
  #counts = new Map<number, number>();
  #knownSince = Date.now();

  constructor(minutes: number) {
    this.#minutes = minutes;
  }

  end(): void {
    this.#reading.abort();
  }

  /**
   * Counts a message that an event tells of. The event may come in a later minute than the message,
   * whose id tells its time. Where the clock was set back, ids go on from the old time, and the
   * event tells the time.
   */
  heard({ id, at }: { readonly id: string; readonly at: number }): void {
    if (this.#counted.has(id)) return;
    if (this.#isReading) this.#counted.add(id);
    this.#count(Math.min(timeOfId(id), at));
  }

  /** Counts anew what was accepted until now. */
  async readBack(): Promise<void> {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    const now = Date.now();
    this.#counts = new Map();
    this.#counted = new Set();
    this.#knownSince = now;
    this.#isReading = true;
    await this.#readFrom(now, signal);
    if (!signal.aborted) this.#isReading = false;
  }

  async #readFrom(now: number, signal: AbortSignal): Promise<void> {
    let since = now - this.#minutes * minuteMs;
    since -= since % minuteMs;
    let after: string | null = null;
    for (let page = 0; page < pagesMost; page++) {
      const span = { since: String(since), limit: String(pageRows) };
      const query = new URLSearchParams(after === null ? span : { ...span, after });
      const answer = await ask<Page<MessageRow>>(`messages?${query.toString()}`, { signal });
      if (answer.kind === 'refused' || signal.aborted) return;
      const { rows, next } = answer.value;
      for (const { id, acceptedAt } of rows) {
        if (!this.#counted.has(id)) this.#count(acceptedAt);
        this.#counted.add(id);
      }
      this.#knownSince = next === null ? since : (rows.at(-1)?.acceptedAt ?? this.#knownSince);
      after = next;
      if (after === null) return;
    }
  }

  #count(at: number): void {
    const minute = Math.floor(at / minuteMs);
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + 1);
    this.#counts.delete(minute - this.#minutes);
  }

  minutesUntil(now: number): readonly Minute[] {
    const last = Math.floor(now / minuteMs);
    const knownFrom = Math.ceil(this.#knownSince / minuteMs);
    return Array.from({ length: this.#minutes }, (_, index) => {
      const minute = last - this.#minutes + 1 + index;
      // For a minute of which only the end is known, the part is told if it is the current minute.
      const isKnown = minute >= knownFrom || minute === last;
      return { at: minute * minuteMs, messages: isKnown ? (this.#counts.get(minute) ?? 0) : null };
    });
  }
}
