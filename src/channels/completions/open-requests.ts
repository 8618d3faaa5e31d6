/**
 * The requests that wait for an answer, and the limits on their number. All running configurations
 * of a process share one such object, so a reload breaks no request under way.
 */
import type { ConversationId } from '../../domain/ids.ts';
import type { TokenCheck } from '../../lib/bearer.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import type { WaitingRequest } from './waiting-request.ts';

const bodiesBytesMax = 128 * 1_048_576;
const minuteMs = 60_000;

/** `max`: how many may be open at once; `perMinute` null: no limit. */
export type RequestLimits = { readonly max: number; readonly perMinute: number | null };

export class OpenRequests {
  /** The newest channel, and its check of a client's bearer; null: no channel has run. */
  newest: { readonly channel: object; readonly check: TokenCheck } | null = null;
  /** Holds the bytes of large bodies. */
  readonly bodies = new ByteSemaphore(bodiesBytesMax);
  readonly #waiting = new Map<ConversationId, WaitingRequest>();
  /** The times of the requests of the last minute, oldest first, while there is a limit. */
  readonly #times: SteadyTime[] = [];
  #count = 0;

  /**
   * Counts a request, which `leave` must end.
   * @returns the milliseconds until there may be room; null: the request may begin
   */
  enter({ max, perMinute }: RequestLimits, now: SteadyTime): number | null {
    if (this.#count >= max) return 1_000;
    if (perMinute === null) this.#times.length = 0;
    else {
      const expired = this.#times.findIndex((at) => now - at < minuteMs);
      this.#times.splice(0, expired < 0 ? this.#times.length : expired);
      if (this.#times.length >= perMinute) {
        return this.#times[this.#times.length - perMinute]! + minuteMs - now;
      }
      this.#times.push(now);
    }
    this.#count++;
    return null;
  }

  leave(): void {
    this.#count--;
  }

  add(conversation: ConversationId, request: WaitingRequest): void {
    this.#waiting.set(conversation, request);
  }

  delete(conversation: ConversationId): void {
    this.#waiting.delete(conversation);
  }

  find(conversation: ConversationId): WaitingRequest | null {
    return this.#waiting.get(conversation) ?? null;
  }

  get all(): readonly WaitingRequest[] {
    return [...this.#waiting.values()];
  }
}
