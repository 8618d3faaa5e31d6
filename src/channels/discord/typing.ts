/**
 * Shows "… is typing", which Discord drops after 10 s. svc repeats it until it sends the reply, for
 * a few minutes at most. A failure ends it and affects nothing else.
 */
import type { Api } from './api.ts';

/** Takes no request that a reply may need. */
const spare = { spare: 'in_turn' } as const;
const everyMs = 8_000;
const totalMsMax = 300_000;
const placesMax = 1_000;

export class Typing {
  readonly #stops = new Map<string, () => void>();

  begin(api: Api, place: string, signal: AbortSignal): void {
    if (signal.aborted || this.#stops.has(place) || this.#stops.size >= placesMax) return;
    let shownMs = 0;
    const end = (): void => {
      clearInterval(timer);
      signal.removeEventListener('abort', end);
      this.#stops.delete(place);
    };
    const send = async (): Promise<void> => {
      if ((shownMs += everyMs) > totalMsMax) return end();
      const result = await api.post(`/channels/${place}/typing`, undefined, undefined, spare);
      const isUnasked = result.kind === 'refused' && result.unasked;
      if (result.kind !== 'ok' && !isUnasked) end();
    };
    const timer = setInterval(() => void send(), everyMs);
    timer.unref();
    this.#stops.set(place, end);
    signal.addEventListener('abort', end);
    void send();
  }

  end(place: string): void {
    this.#stops.get(place)?.();
  }

  endAll(): void {
    for (const end of this.#stops.values()) end();
  }
}
