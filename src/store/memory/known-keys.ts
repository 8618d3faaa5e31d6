/** Messages of the memory form that came with a key, so that a resend is recognised. */
import type { Receipt } from '../../channel/channel.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { MessageProgress } from '../order/rows.ts';

export class MemoryReceipt implements Receipt {
  readonly id: MessageId;
  readonly duplicate: boolean;
  readonly #progress: MessageProgress;

  constructor(id: MessageId, progress: MessageProgress, duplicate: boolean) {
    this.id = id;
    this.duplicate = duplicate;
    this.#progress = progress;
  }

  get safe(): Promise<void> {
    return this.#progress.settled;
  }
}

export class KnownKeys {
  readonly #keys = new Map<
    string,
    { readonly id: MessageId; readonly progress: MessageProgress }
  >();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** The receipt of a message that came before with this key; null: none did. */
  receiptOf(key: string): Receipt | null {
    const known = this.#keys.get(key);
    return known === undefined ? null : new MemoryReceipt(known.id, known.progress, true);
  }

  /** The oldest key goes when there are too many. */
  add(key: string, id: MessageId, progress: MessageProgress): void {
    this.#keys.set(key, { id, progress });
    if (this.#keys.size <= this.#most) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}
