/** How many messages were accepted in each minute: of before from the API, since then by events. */
import { useEffect, useState } from 'react';
import type { Page } from '../../../src/domain/page.ts';
import type { MessageRow } from '../../../src/domain/records.ts';
import { ask } from '../../kit/api.ts';
import { listen } from '../feed.ts';

const minuteMs = 60_000;
const showEveryMs = 1_000;
/** So many pages of messages of before are read; what is older stays unknown. */
const pagesMost = 4;
const pageRows = 500;

export type Minute = {
  /** When it began, milliseconds since 1970. */
  readonly at: number;
  /** null: the page does not know. */
  readonly messages: number | null;
};

/** The last minutes, the one that is not over last. */
export function usePace(minutes: number): readonly Minute[] {
  const [shown, setShown] = useState<readonly Minute[]>([]);
  useEffect(() => {
    const pace = new Pace(minutes);
    const leave = listen((frame) => {
      if (frame.kind === 'message_accepted' && !frame.duplicate) pace.add(frame.at);
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
  return shown;
}

class Pace {
  readonly #minutes: number;
  readonly #ending = new AbortController();
  #counts = new Map<number, number>();
  #knownSince = Date.now();

  constructor(minutes: number) {
    this.#minutes = minutes;
  }

  end(): void {
    this.#ending.abort();
  }

  add(at: number): void {
    const minute = Math.floor(at / minuteMs);
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + 1);
    this.#counts.delete(minute - this.#minutes);
  }

  /** Counts anew what was accepted until now. */
  async readBack(): Promise<void> {
    const until = Date.now();
    this.#counts = new Map();
    this.#knownSince = until;
    let since = until - this.#minutes * minuteMs;
    since -= since % minuteMs;
    let after: string | null = null;
    for (let page = 0; page < pagesMost; page++) {
      const span = { since: String(since), until: String(until), limit: String(pageRows) };
      const query = new URLSearchParams(after === null ? span : { ...span, after });
      const { signal } = this.#ending;
      const answer = await ask<Page<MessageRow>>(`messages?${query.toString()}`, { signal });
      if (answer.kind === 'refused') return;
      const { rows, next } = answer.value;
      for (const { acceptedAt } of rows) this.add(acceptedAt);
      this.#knownSince = next === null ? since : (rows.at(-1)?.acceptedAt ?? this.#knownSince);
      after = next;
      if (after === null) return;
    }
  }

  minutesUntil(now: number): readonly Minute[] {
    const last = Math.floor(now / minuteMs);
    const knownFrom = Math.ceil(this.#knownSince / minuteMs);
    return Array.from({ length: this.#minutes }, (_, index) => {
      const minute = last - this.#minutes + 1 + index;
      // Of a minute of which only the end is known there is a part to tell, if it is this one.
      const isKnown = minute >= knownFrom || minute === last;
      return { at: minute * minuteMs, messages: isKnown ? (this.#counts.get(minute) ?? 0) : null };
    });
  }
}
