/** Refuses batches for which the ledger has no room, and lets callers wait for room. */
import type { Refused } from '../../channels/channel.ts';
import type { Inbound } from '../../domain/message.ts';
import { bytesOfMessage } from './weight.ts';

type Room = { readonly messages: number; readonly bytes: number };

const fullRetryMs = 1_000;
const closedRetryMs = 5_000;

export class IntakeLimit {
  readonly #room: () => Room;
  readonly #waiting = new Set<() => void>();
  #closed: 'shutting_down' | 'storage_failed' | null = null;

  constructor(room: () => Room) {
    this.#room = room;
  }

  /** Why this batch is refused; null: it can be accepted. */
  refusal(batch: readonly Inbound[]): Refused | null {
    if (this.#closed !== null) return refused(this.#closed, closedRetryMs);
    const room = this.#room();
    let bytes = 0;
    for (const inbound of batch) bytes += bytesOfMessage(inbound);
    return batch.length > room.messages || bytes > room.bytes ? refused('full', fullRetryMs) : null;
  }

  close(reason: 'shutting_down' | 'storage_failed'): void {
    this.#closed ??= reason;
    this.settled();
  }

  /** Call when something is settled: the waiting callers check again. */
  settled(): void {
    for (const check of this.#waiting) check();
  }

  /**
   * Resolves when there is room, when the ledger accepts nothing any more, or when the signal
   * aborts.
   */
  whenRoom(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        const { messages, bytes } = this.#room();
        const over = signal.aborted || this.#closed !== null;
        if (!over && (messages <= 0 || bytes <= 0)) return;
        this.#waiting.delete(check);
        signal.removeEventListener('abort', check);
        resolve();
      };
      this.#waiting.add(check);
      signal.addEventListener('abort', check);
      check();
    });
  }
}

export function refused(reason: Refused['reason'], retryAfterMs: number): Refused {
  return { kind: 'refused', reason, retryAfterMs };
}
