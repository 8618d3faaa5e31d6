/** What went which way in the last minute, for the drawings of the pages. */
import type { ChannelKey } from '../domain/ids.ts';
import { channelTypeOf } from '../domain/ids.ts';
import type { SteadyTime } from '../lib/clock.ts';
import { RecentCount, RecentPairs, type RecentPair } from '../lib/recent-count.ts';

/** So many ways are counted at once; a configuration has fewer. */
const waysMax = 2_000;

export class Throughput {
  readonly #accepted = new RecentCount();
  readonly #answered = new RecentPairs(waysMax);
  readonly #asked = new RecentPairs(waysMax);

  /** A message came in. */
  accepted(now: SteadyTime): void {
    this.#accepted.add(now);
  }

  /** A brain is done with a message of that channel. */
  answered(channel: ChannelKey, brain: string, now: SteadyTime): void {
    this.#answered.add(channelTypeOf(channel), brain, now);
  }

  /** A brain asked a model, and knows how that ended. */
  asked(brain: string, model: string, now: SteadyTime): void {
    this.#asked.add(brain, model, now);
  }

  perMinute(now: SteadyTime): number {
    return this.#accepted.count(now);
  }

  /** From channel types to brains, and from brains to models. */
  ways(now: SteadyTime): ThroughputWays {
    return { answered: this.#answered.count(now), asked: this.#asked.count(now) };
  }
}

export type ThroughputWays = {
  readonly answered: readonly RecentPair[];
  readonly asked: readonly RecentPair[];
};
