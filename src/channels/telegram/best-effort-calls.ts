/**
 * What is done in a chat and may be left out: eyes, "typing…", buttons that go, a reply that grows.
 * It takes of the platform's allowance only what no reply needs, waits for that some moments, and
 * is left out where there is none. A 429 to one kind of it holds that kind alone: what the platform
 * takes of replies it says by a 429 to one.
 */
import type { Clock } from '../../lib/clock.ts';
import { passed, type Deadlines } from '../../lib/deadlines.ts';
import { Holds } from '../messenger/low-priority-queue.ts';
import type { BotApi, CallResult, Payload } from './bot-api.ts';
import type { Pace } from './rate-limits.ts';

type BestEffortCall = 'setMessageReaction' | 'sendChatAction' | 'editMessageReplyMarkup';

/** Of a reply that is still being written a draft is held by itself. */
type Kind = BestEffortCall | 'preview' | 'draft';

export type BestEffortCallDeps = Pick<Clock, 'steady'> & {
  readonly api: BotApi;
  readonly pace: Pick<Pace, 'spare'>;
  readonly deadlines: Deadlines;
};

const callMs = 5_000;
/** What counts as a message of its chat: a notice is to take no reply's place there. */
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

  /** Whatever becomes of it changes nothing. */
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

  /** The way to show a reply that is still being written. */
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
