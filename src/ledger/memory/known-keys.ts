/** Messages of the memory form that came with a key, so that a resend is recognised. */
import type { Receipt } from '../../channels/channel.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { MessageProgress } from '../engine/order/rows.ts';

type Which = 'new' | 'duplicate' | 'key_reused';

export class MemoryReceipt implements Receipt {
  readonly id: MessageId;
  readonly duplicate: boolean;
  readonly keyReused: boolean;
  readonly #progress: MessageProgress;

  constructor(id: MessageId, progress: MessageProgress, which: Which) {
    this.id = id;
    this.duplicate = which === 'duplicate';
    this.keyReused = which === 'key_reused';
    this.#progress = progress;
  }

  get safe(): Promise<void> {
    return this.#progress.settled;
  }
}

/** `fingerprint`: of what was said; null: it is not compared. */
type KnownMessage = {
  readonly id: MessageId;
  readonly fingerprint: string | null;
  readonly progress: MessageProgress;
};

export class KnownKeys {
  readonly #keys = new Map<string, KnownMessage>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** The receipt of a message that came before with this key; null: none did. */
  receiptOf(key: string, fingerprint: string | null): Receipt | null {
    const known = this.#keys.get(key);
    if (known === undefined) return null;
    const { id, progress } = known;
    const compared = fingerprint !== null && known.fingerprint !== null;
    const isOther = compared && known.fingerprint !== fingerprint;
    return new MemoryReceipt(id, progress, isOther ? 'key_reused' : 'duplicate');
  }

  /** The oldest key goes when there are too many. */
  add(key: string, message: KnownMessage): void {
    this.#keys.set(key, message);
    if (this.#keys.size <= this.#most) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}
