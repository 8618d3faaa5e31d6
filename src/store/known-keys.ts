/** Messages of the memory form that came with a key, so that a resend is recognised. */
import type { Receipt } from '../channel/channel.ts';
import type { MessageId } from '../domain/ids.ts';
import type { Settlement } from './rows.ts';

export class MemoryReceipt implements Receipt {
  readonly id: MessageId;
  readonly duplicate: boolean;
  readonly #settlement: Settlement;

  constructor(id: MessageId, settlement: Settlement, duplicate: boolean) {
    this.id = id;
    this.duplicate = duplicate;
    this.#settlement = settlement;
  }

  get safe(): Promise<void> {
    return this.#settlement.settled;
  }
}

export class KnownKeys {
  readonly #keys = new Map<string, { readonly id: MessageId; readonly settlement: Settlement }>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** The receipt of a message that came before with this key; null: none did. */
  receiptOf(key: string): Receipt | null {
    const known = this.#keys.get(key);
    return known === undefined ? null : new MemoryReceipt(known.id, known.settlement, true);
  }

  /** The oldest key goes when there are too many. */
  add(key: string, id: MessageId, settlement: Settlement): void {
    this.#keys.set(key, { id, settlement });
    if (this.#keys.size <= this.#most) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}
