/**
 * Best-effort calls in a chat: eyes, "typing…", removing buttons, previews of a reply. They use
 * only room under the rate limits that no reply needs. They wait for it for some moments, and are
 * dropped if there is none. A 429 to one kind of call stops that kind alone, since a 429 to a reply
 * shows how many replies the platform takes.
 */
import type { Clock } from '../../lib/clock.ts';
import { passed, type Deadlines } from '../../lib/deadlines.ts';
import { Holds } from '../messenger/low-priority-queue.ts';
import type { BotApi, CallResult, Payload } from './bot-api.ts';
import type { Pace } from './rate-limits.ts';

type BestEffortCall = 'setMessageReaction' | 'sendChatAction' | 'editMessageReplyMarkup';

/** A draft of a reply has a back-off window of its own. */
type Kind = BestEffortCall | 'preview' | 'draft';

export type BestEffortCallDeps = Pick<Clock, 'steady'> & {
  readonly api: BotApi;
  readonly pace: Pick<Pace, 'spare'>;
  readonly deadlines: Deadlines;
};

const callMs = 5_000;
/** Calls that count as messages of their chat, so they must not take a reply's place there. */
const messages: ReadonlySet<BestEffortCall> = new Set(['editMessageReplyMarkup']);
const waitMs = 2_500;
const waitingMax = 1_000;

export class Courtesies {
  readonly #deps: BestEffortCallDeps;
  readonly #holds: Holds<Kind>;
  #waiting = 0;

  constructor(deps: BestEffortCallDeps) {
    this.#deps = deps;
    this.#holds = new Holds(deps.steady);
  }

  /** Queues the call. Its outcome changes nothing else. */
  offer<C extends BestEffortCall>(
    method: C,
    payload: Payload<C> & { readonly chat_id: number },
    signal: AbortSignal,
  ): void {
    if (this.#holds.holds(method) || this.#waiting >= waitingMax) return;
    void this.#inTurn(method, payload, signal);
  }

  async #inTurn<C extends BestEffortCall>(
    method: C,
    payload: Payload<C> & { readonly chat_id: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { api, pace, deadlines } = this.#deps;
    const tooLong = new AbortController();
    const limit = deadlines.after(waitMs, () => tooLong.abort());
    const stop = AbortSignal.any([signal, tooLong.signal]);
    this.#waiting++;
    const kind = messages.has(method) ? 'message' : 'notice';
    const isAdmitted = await pace.spare(payload.chat_id, stop, kind);
    this.#waiting--;
    limit.cancel();
    if (!isAdmitted || this.#holds.holds(method)) return;
    this.#heed(method, await api.call(method, payload, callMs, signal));
  }

  /** The API and the rate limits for the preview of a reply. */
  get preview(): Pick<BestEffortCallDeps, 'api' | 'pace'> {
    const { api, pace, deadlines } = this.#deps;
    return {
      api: {
        sendDocument: (...given) => api.sendDocument(...given),
        call: async (method, payload, timeoutMs, signal) => {
          const result = await api.call(method, payload, timeoutMs, signal);
          return this.#heed(method === 'sendMessageDraft' ? 'draft' : 'preview', result);
        },
      },
      pace: {
        spare: async (chat, signal, kind, isFirst) => {
          const ms = this.#holds.msOf(kind === 'draft' ? 'draft' : 'preview');
          if (ms > 0) await passed(deadlines, ms, signal);
          return pace.spare(chat, signal, kind, isFirst);
        },
      },
    };
  }

  #heed(kind: Kind, result: CallResult): CallResult {
    if (result.kind === 'refused' && result.status === 429) {
      this.#holds.hold(kind, result.retryAfterMs ?? 0);
    }
    return result;
  }
}
