/**
 * How many messages the fake takes from the bot. Page: https://core.telegram.org/bots/faq, "My bot
 * is hitting limits, how do I avoid this?": about 30 a second in all, one a second in a chat with
 * short bursts, 20 a minute in a group. Edits of messages count as messages. "typing…" and drafts
 * do not: the server forwards both as a person's typing. No page names a limit for drafts. Bots
 * that show one every 0.1 s in a chat are refused after some seconds, with a wait of 3.
 */
import { integerOf } from './update-queue.ts';
import { refuse, type Params, type Refusal } from './wire.ts';

/** Tokens that come back evenly. */
type Bucket = { readonly most: number; readonly perSecond: number };

const bot: Bucket = { most: 30, perSecond: 30 };
const chat: Bucket = { most: 5, perSecond: 1 };
const group: Bucket = { most: 20, perSecond: 20 / 60 };

const draft: Bucket = { most: 25, perSecond: 9 };
const draftWaitSeconds = 3;

/** The methods whose effect a chat shows. */
const counted = /^(?:send(?!chataction|messagedraft)|edit|copy|forward)/i;

export class RateLimits {
  readonly #now: () => number;
  readonly #levels = new Map<string, { left: number; at: number }>();
  /** The number of refused calls. */
  refused = 0;

  /** @param now milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a call; a refused call does not count. */
  take(method: string, params: Params): Refusal | null {
    const id = integerOf(params['chat_id'], 0);
    const isDraft = /^sendmessagedraft$/i.test(method);
    if (!isDraft && !counted.test(method)) return null;
    const ofMessages: [string, Bucket][] = [
      ['bot', bot],
      [`chat ${id}`, chat],
      ...(id < 0 ? ([[`group ${id}`, group]] satisfies [string, Bucket][]) : []),
    ];
    const asked: [string, Bucket][] = isDraft ? [[`drafts ${id}`, draft]] : ofMessages;
    const waits = asked.map(([name, bucket]) => this.#secondsUntilOne(name, bucket));
    const seconds = Math.max(...waits);
    if (seconds > 0) {
      this.refused++;
      const retry_after = isDraft ? draftWaitSeconds : Math.ceil(seconds);
      return refuse(429, `Too Many Requests: retry after ${retry_after}`, { retry_after });
    }
    for (const [name] of asked) this.#levels.get(name)!.left--;
    return null;
  }

  #secondsUntilOne(name: string, { most, perSecond }: Bucket): number {
    const now = this.#now();
    const level = this.#levels.get(name) ?? { left: most, at: now };
    const left = Math.min(most, level.left + ((now - level.at) / 1_000) * perSecond);
    this.#levels.set(name, { left, at: now });
    return left >= 1 ? 0 : (1 - left) / perSecond;
  }
}
