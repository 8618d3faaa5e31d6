/**
 * Notifies listeners that rows have become claimable. It combines all changes of one go into one
 * notification. It calls the listeners in a microtask, never inside the change, so that a listener
 * may claim at once.
 */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';

type Wake = (box: Box, channel: ChannelKey) => void;
type Notice = { readonly box: Box; readonly channel: ChannelKey };

export class ReadyNotifier {
  readonly #listeners = new Set<Wake>();
  readonly #notices: Notice[] = [];
  /** Two lists that take turns, so that a notification allocates nothing. */
  #pending: Notice[] = [];
  #sent: Notice[] = [];

  onReady(wake: Wake): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  ring(box: Box, channel: ChannelKey): void {
    for (const one of this.#pending) if (one.box === box && one.channel === channel) return;
    if (this.#pending.length === 0) queueMicrotask(this.#notifyAll);
    this.#pending.push(this.#noticeOf(box, channel));
  }

  close(): void {
    this.#listeners.clear();
  }

  readonly #notifyAll = (): void => {
    const notices = this.#pending;
    this.#pending = this.#sent;
    this.#sent = notices;
    for (const { box, channel } of notices) {
      for (const wake of this.#listeners) wake(box, channel);
    }
    notices.length = 0;
  };

  /** There are few channels, and each has one entry for each box. */
  #noticeOf(box: Box, channel: ChannelKey): Notice {
    let notice = this.#notices.find((one) => one.box === box && one.channel === channel);
    if (notice === undefined) this.#notices.push((notice = { box, channel }));
    return notice;
  }
}
