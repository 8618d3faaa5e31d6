import type { Box } from '../domain/event.ts';
import type { ChannelKey } from '../domain/ids.ts';

type Wake = (box: Box, channel: ChannelKey) => void;

/**
 * Tells that something has become claimable: once for all that did in one go, soon after it and
 * never inside it, so that a listener may claim at once.
 */
export class Bell {
  readonly #listeners = new Set<Wake>();
  readonly #rung = { in: new Set<ChannelKey>(), out: new Set<ChannelKey>() };
  #ringing = false;

  onRing(wake: Wake): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  ring(box: Box, channel: ChannelKey): void {
    this.#rung[box].add(channel);
    if (this.#ringing) return;
    this.#ringing = true;
    queueMicrotask(this.#spread);
  }

  silence(): void {
    this.#listeners.clear();
  }

  readonly #spread = (): void => {
    this.#ringing = false;
    for (const box of ['in', 'out'] as const) {
      const channels = [...this.#rung[box]];
      this.#rung[box].clear();
      for (const channel of channels) {
        for (const wake of this.#listeners) wake(box, channel);
      }
    }
  };
}
