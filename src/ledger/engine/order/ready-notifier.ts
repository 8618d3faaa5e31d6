import type { Box } from '../../../domain/event.ts';
import type { ChannelKey } from '../../../domain/ids.ts';

type Wake = (box: Box, channel: ChannelKey) => void;
type Ring = { readonly box: Box; readonly channel: ChannelKey };

/**
 * Notifies listeners that rows have become claimable. It combines all changes of one go into one
 * notification. It calls the listeners in a microtask, never inside the change, so that a listener
 * may claim at once.
 */
export class ReadyNotifier {
  readonly #listeners = new Set<Wake>();
  readonly #rings: Ring[] = [];
  /** Two lists that take turns, so that a notification allocates nothing. */
  #rung: Ring[] = [];
  #told: Ring[] = [];

  onReady(wake: Wake): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  ring(box: Box, channel: ChannelKey): void {
    for (const one of this.#rung) if (one.box === box && one.channel === channel) return;
    if (this.#rung.length === 0) queueMicrotask(this.#spread);
    this.#rung.push(this.#ringOf(box, channel));
  }

  silence(): void {
    this.#listeners.clear();
  }

  readonly #spread = (): void => {
    const rung = this.#rung;
    this.#rung = this.#told;
    this.#told = rung;
    for (const { box, channel } of rung) {
      for (const wake of this.#listeners) wake(box, channel);
    }
    rung.length = 0;
  };

  /** There are few channels, and each has one entry for each box. */
  #ringOf(box: Box, channel: ChannelKey): Ring {
    let ring = this.#rings.find((one) => one.box === box && one.channel === channel);
    if (ring === undefined) this.#rings.push((ring = { box, channel }));
    return ring;
  }
}
