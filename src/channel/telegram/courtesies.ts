/**
 * What is done in a chat and may be left out: eyes, "typing…", buttons that go, a reply that grows.
 * It takes of the platform's allowance only what no reply needs, waits for that some moments, and
 * is left out where there is none. A 429 to one kind of it holds that kind alone: what the platform
 * takes of replies it says by a 429 to one.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import { Holds } from '../holds.ts';
import type { BotApi, CallResult, Payload } from './bot-api.ts';
import type { Pace } from './pace.ts';

type Courtesy = 'setMessageReaction' | 'sendChatAction' | 'editMessageReplyMarkup';

export type CourtesyParts = Pick<Clock, 'steady'> & {
  readonly api: BotApi;
  readonly pace: Pick<Pace, 'tryTake'>;
  readonly deadlines: Deadlines;
};

const callMs = 5_000;
/** What counts as a message of its chat: what does not is to take no reply's place there. */
const messages: ReadonlySet<Courtesy> = new Set(['editMessageReplyMarkup']);
/** Those that came at once ask again one after the other, as far apart as the bot may send. */
const again = { firstMs: 200, apartMs: 40, places: 10 } as const;
const triesMax = 6;
const waitingMax = 1_000;

export class Courtesies {
  readonly #parts: CourtesyParts;
  readonly #holds: Holds<Courtesy | 'preview'>;
  #waiting = 0;
  #place = 0;

  constructor(parts: CourtesyParts) {
    this.#parts = parts;
    this.#holds = new Holds(parts.steady);
  }

  /** Whatever becomes of it changes nothing. */
  offer<C extends Courtesy>(
    method: C,
    payload: Payload<C> & { readonly chat_id: number },
    signal: AbortSignal,
    tries = 1,
  ): void {
    if (signal.aborted || this.#holds.holds(method)) return;
    if (this.#parts.pace.tryTake(payload.chat_id, messages.has(method))) {
      return void this.#call(method, payload, signal);
    }
    if (tries >= triesMax || this.#waiting >= waitingMax) return;
    this.#waiting++;
    this.#place = (this.#place + 1) % again.places;
    this.#parts.deadlines.after(again.firstMs + this.#place * again.apartMs, () => {
      this.#waiting--;
      this.offer(method, payload, signal, tries + 1);
    });
  }

  /** The way to show a reply that is still being written. */
  get preview(): Pick<CourtesyParts, 'api' | 'pace'> {
    const { api, pace } = this.#parts;
    return {
      api: {
        sendDocument: (...given) => api.sendDocument(...given),
        call: async (method, payload, timeoutMs, signal) =>
          this.#heed('preview', await api.call(method, payload, timeoutMs, signal)),
      },
      pace: { tryTake: (chat) => !this.#holds.holds('preview') && pace.tryTake(chat) },
    };
  }

  async #call<C extends Courtesy>(method: C, payload: Payload<C>, signal: AbortSignal) {
    this.#heed(method, await this.#parts.api.call(method, payload, callMs, signal));
  }

  #heed(kind: Courtesy | 'preview', result: CallResult): CallResult {
    if (result.kind === 'refused' && result.status === 429) {
      this.#holds.hold(kind, result.retryAfterMs ?? 0);
    }
    return result;
  }
}
