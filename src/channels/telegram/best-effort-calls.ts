/**
 * Best-effort calls in a chat: eyes, "typing…", removing buttons, previews of a reply. They use
 * only room under the rate limits that no reply needs. They wait for it for some moments, and are
 * dropped if there is none. A 429 to one kind of call stops that kind alone, since a 429 to a reply
 * shows how many replies the platform takes.
 */
import type { Clock } from '../../lib/clock.ts';
import { pauseUntil, type Deadlines } from '../../lib/deadlines.ts';
import { BackoffWindows } from '../messenger/rate-limits.ts';
import type { BotApi, CallResult, Payload } from './bot-api.ts';
import type { RateLimiter } from './rate-limits.ts';

type BestEffortCall = 'setMessageReaction' | 'sendChatAction' | 'editMessageReplyMarkup';

/** A draft of a reply has a back-off window of its own. */
type Kind = BestEffortCall | 'preview' | 'draft';

export type BestEffortCallDeps = Pick<Clock, 'steady'> & {
  readonly api: BotApi;
  readonly rateLimiter: Pick<RateLimiter, 'spare'>;
  readonly deadlines: Deadlines;
};

const callMs = 5_000;
/** Calls that count as messages of their chat, so they must not take a reply's place there. */
const countsAsMessage: ReadonlySet<BestEffortCall> = new Set(['editMessageReplyMarkup']);
const waitMs = 2_500;
const waitingMax = 1_000;

export class BestEffortCalls {
  readonly #deps: BestEffortCallDeps;
  readonly #backoff: BackoffWindows<Kind>;
  #waiting = 0;

  constructor(deps: BestEffortCallDeps) {
    this.#deps = deps;
    this.#backoff = new BackoffWindows(deps.steady);
  }

  /** Queues the call. Its outcome changes nothing else. */
  offer<C extends BestEffortCall>(
    method: C,
    payload: Payload<C> & { readonly chat_id: number },
    signal: AbortSignal,
  ): void {
    if (this.#backoff.isActive(method) || this.#waiting >= waitingMax) return;
    void this.#inTurn(method, payload, signal);
  }

  async #inTurn<C extends BestEffortCall>(
    method: C,
    payload: Payload<C> & { readonly chat_id: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { api, rateLimiter, deadlines } = this.#deps;
    const tooLong = new AbortController();
    const limit = deadlines.after(waitMs, () => tooLong.abort());
    const stop = AbortSignal.any([signal, tooLong.signal]);
    this.#waiting++;
    const kind = countsAsMessage.has(method) ? 'message' : 'notice';
    const isAdmitted = await rateLimiter.spare(payload.chat_id, stop, kind);
    this.#waiting--;
    limit.cancel();
    if (!isAdmitted || this.#backoff.isActive(method)) return;
    this.#noteLimit(method, await api.call(method, payload, callMs, signal));
  }

  /** The API and the rate limits for the preview of a reply. */
  get preview(): Pick<BestEffortCallDeps, 'api' | 'rateLimiter'> {
    const { api, rateLimiter, deadlines } = this.#deps;
    return {
      api: {
        sendDocument: (...given) => api.sendDocument(...given),
        call: async (method, payload, timeoutMs, signal) => {
          const result = await api.call(method, payload, timeoutMs, signal);
          return this.#noteLimit(method === 'sendMessageDraft' ? 'draft' : 'preview', result);
        },
      },
      rateLimiter: {
        spare: async (chat, signal, kind, isFirst) => {
          const ms = this.#backoff.remainingMs(kind === 'draft' ? 'draft' : 'preview');
          if (ms > 0) await pauseUntil(deadlines, ms, signal);
          return rateLimiter.spare(chat, signal, kind, isFirst);
        },
      },
    };
  }

  #noteLimit(kind: Kind, result: CallResult): CallResult {
    if (result.kind === 'refused' && result.status === 429) {
      this.#backoff.start(kind, result.retryAfterMs ?? 0);
    }
    return result;
  }
}
