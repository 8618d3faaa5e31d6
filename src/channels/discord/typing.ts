/**
 * "… is typing", which Discord shows for 10 s: said again until the reply is on its way, for a few
 * minutes at most. Whatever goes wrong with it ends it and nothing else.
 */
import type { Api } from './api.ts';

/** It takes nothing of the bot's allowance that a reply may need. */
const spare = { spare: 'in_turn' } as const;
const everyMs = 8_000;
const mostMs = 300_000;
const placesMax = 1_000;

export class Typing {
  readonly #ends = new Map<string, () => void>();

  begin(api: Api, place: string, signal: AbortSignal): void {
    if (signal.aborted || this.#ends.has(place) || this.#ends.size >= placesMax) return;
    let saidMs = 0;
    const end = (): void => {
      clearInterval(timer);
      signal.removeEventListener('abort', end);
      this.#ends.delete(place);
    };
    const say = async (): Promise<void> => {
      if ((saidMs += everyMs) > mostMs) return end();
      const said = await api.post(`/channels/${place}/typing`, undefined, undefined, spare);
      const isUnasked = said.kind === 'refused' && said.unasked;
      if (said.kind !== 'ok' && !isUnasked) end();
    };
    const timer = setInterval(() => void say(), everyMs);
    timer.unref();
    this.#ends.set(place, end);
    signal.addEventListener('abort', end);
    void say();
  }

  end(place: string): void {
    this.#ends.get(place)?.();
  }

  endAll(): void {
    for (const end of this.#ends.values()) end();
  }
}
