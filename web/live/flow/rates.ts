/** How often something happened in the last minute, by the events since the page was opened. */
import { useEffect, useState } from 'react';
import { channelTypeOf } from '../../../src/domain/ids.ts';
import { listen, type LiveFrame } from '../feed.ts';

const windowSeconds = 60;
const showEveryMs = 1_000;

export type Rates = {
  /** By the key of a node of the map. */
  readonly perMinute: ReadonlyMap<string, number>;
  /** For how many seconds the rates are; at first less than the whole minute is known. */
  readonly seconds: number;
};

export function useRates(): Rates {
  const [rates, setRates] = useState<Rates>({ perMinute: new Map(), seconds: 0 });
  useEffect(() => {
    const counter = new Counter(performance.now());
    const leave = listen((frame) => {
      const key = keyOf(frame);
      if (key !== null) counter.count(key, performance.now());
    });
    const timer = setInterval(() => setRates(counter.ratesAt(performance.now())), showEveryMs);
    return () => {
      leave();
      clearInterval(timer);
    };
  }, []);
  return rates;
}

function keyOf(frame: LiveFrame): string | null {
  if (frame.kind === 'message_accepted') {
    return frame.duplicate ? null : `channel ${channelTypeOf(frame.channel)}`;
  }
  if (frame.kind === 'turn_finished' || frame.kind === 'command_answered') {
    return `brain ${frame.brain}`;
  }
  return frame.kind === 'model_answered' ? `model ${frame.model}` : null;
}

/** Counts by the second, and forgets what is older than the window. Times are milliseconds. */
class Counter {
  readonly #startedAt: number;
  readonly #counts = new Map<string, Map<number, number>>();

  constructor(startedAt: number) {
    this.#startedAt = startedAt;
  }

  count(key: string, at: number): void {
    const second = Math.floor(at / 1_000);
    const bySecond = this.#counts.get(key) ?? new Map<number, number>();
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
    this.#counts.set(key, bySecond);
  }

  ratesAt(now: number): Rates {
    const oldest = Math.floor(now / 1_000) - windowSeconds;
    const perMinute = new Map<string, number>();
    for (const [key, bySecond] of this.#counts) {
      let sum = 0;
      for (const [second, count] of bySecond) {
        if (second <= oldest) bySecond.delete(second);
        else sum += count;
      }
      perMinute.set(key, sum);
    }
    const seconds = Math.min(windowSeconds, Math.floor((now - this.#startedAt) / 1_000));
    return { perMinute, seconds };
  }
}
