/**
 * Whether the replies of a channel arrive: its delivery attempts of the last five minutes, and a
 * state derived from them. The state fails quickly and recovers slowly. So a receiver that answers
 * now and then does not change it with each answer.
 */
import { fiveMinutesMs, minuteMs } from '../lib/durations.ts';
import type { Failure, FailureKind } from '../domain/failure.ts';
import { channelTypeOf, registeredNameOf, type ChannelKey } from '../domain/ids.ts';
import type { SteadyTime } from '../lib/clock.ts';
import { SlidingCounts } from '../lib/sliding-counts.ts';

/**
 * The receiver fails once at least `failed` attempts within `ms` failed, and at least this share of
 * all.
 */
const failsAfter = { ms: 15_000, failed: 3, share: 0.5 };
/** The receiver works again once a reply arrived within `ms`, and less than this share failed. */
const worksAfter = { ms: 30_000, share: 0.1 };
/**
 * For channels with few replies: the receiver fails after `failed` failures in a row with no
 * arrival for `ms`.
 */
const failsInRowAfter = { ms: 15_000, failed: 3 };
/**
 * The receiver fails while attempts are still open, once at least `open` of them are open and none
 * has ended for `ms`. An attempt at a silent receiver takes longer to fail than a person should
 * wait for the report. After a failed attempt, one open attempt is enough.
 */
const silentAfter = { ms: 10_000, open: 3, openAfterFailure: 1 };

/** Counts of delivery attempts within some time. */
export type TryCounts = { readonly tried: number; readonly failed: number };

/**
 * One reason of failed attempts. `status`: the receiver's answer; null: there was none, or none
 * with a status.
 */
export type TryReason = {
  readonly code: FailureKind;
  readonly status: number | null;
  readonly minute: number;
  readonly fiveMinutes: number;
};

export type DeliveryMeters = {
  /**
   * Since when the receiver fails, milliseconds since 1970; null: it works, as far as svc knows.
   */
  readonly failingSince: number | null;
  readonly minute: TryCounts;
  readonly fiveMinutes: TryCounts;
  /** Why attempts failed in the last five minutes, in no order. */
  readonly reasons: readonly TryReason[];
};

/** Failures of svc itself, which are no evidence about the receiver. */
const noEvidence: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'cancelled',
  'fault',
  'poison',
  'unroutable',
]);

/** The most reasons that are counted separately. Further ones count as `fault`. */
const reasonsMax = 40;
const arrived = 'arrived';

export class DeliveryTries {
  readonly #counts = new SlidingCounts<string>(reasonsMax, nameOf({ kind: 'fault', status: null }));
  /** When the present row of failures began. */
  #beganAt = 0;
  #failingSince: number | null = null;
  /** Whether a reply arrived since the receiver began to fail. */
  #hasArrived = false;
  /** Attempts that have begun and not ended. */
  #open = 0;
  /** When the last attempt ended, or when the first of the open ones began. */
  #lastProgressAt = 0;
  /** How many attempts failed since the last arrival, or since the first attempt. */
  #failedInRow = 0;
  #arrivedAt: SteadyTime | null = null;
  #failedAt: SteadyTime | null = null;

  began(time: SteadyTime): void {
    if (this.#open++ === 0) this.#lastProgressAt = time;
  }

  /** Ends an attempt, whatever its result: a stopped attempt is not open any more either. */
  ended(time: SteadyTime): void {
    this.#open--;
    this.#lastProgressAt = time;
  }

  arrived(time: SteadyTime): void {
    this.#counts.add(arrived, time);
    this.#failedInRow = 0;
    this.#arrivedAt = time;
    this.#hasArrived = true;
  }

  /** @param now milliseconds since 1970 */
  failed(failure: Pick<Failure, 'kind' | 'status'>, now: number, time: SteadyTime): void {
    if (noEvidence.has(failure.kind)) return;
    if (this.#failedInRow++ === 0 && !this.#isFailing(time)) this.#beganAt = now;
    this.#counts.add(nameOf(failure), time);
    this.#failedAt = time;
    this.#updateState(now, time);
  }

  /** @param now milliseconds since 1970 */
  read(now: number, time: SteadyTime): DeliveryMeters {
    this.#updateState(now, time);
    const lately = this.#counts.within(minuteMs, time);
    const reasons = [...this.#counts.within(fiveMinutesMs, time)]
      .filter(([name]) => name !== arrived)
      .map(([name, fiveMinutes]) => {
        return { ...reasonIn(name), minute: lately.get(name) ?? 0, fiveMinutes };
      });
    return {
      failingSince: this.#failingSince,
      minute: this.#within(minuteMs, time),
      fiveMinutes: this.#within(fiveMinutesMs, time),
      reasons,
    };
  }

  #silentSince(now: number, time: SteadyTime): number | null {
    const silentMs = Math.round(time - this.#lastProgressAt);
    const { open, openAfterFailure, ms } = silentAfter;
    const hasFailed = this.#failedInRow > 0;
    if (this.#open < (hasFailed ? openAfterFailure : open) || silentMs < ms) return null;
    return hasFailed ? this.#beganAt : now - silentMs;
  }

  /**
   * Only a new arrival ends the failing state. Attempts at a silent receiver that end do not, nor
   * do earlier arrivals.
   */
  #updateState(now: number, time: SteadyTime): void {
    if (this.#failingSince === null) {
      this.#failingSince = this.#fails(time) ? this.#beganAt : this.#silentSince(now, time);
      this.#hasArrived = false;
      return;
    }
    if (this.#hasArrived && this.#works(time)) this.#failingSince = null;
  }

  /** When nothing more is to be delivered, the last arrivals decide. */
  #works(time: SteadyTime): boolean {
    const { tried, failed } = this.#within(worksAfter.ms, time);
    if (tried > failed) return failed / tried < worksAfter.share;
    if (failed > 0 || this.#failedInRow > 0) return false;
    return this.#failedAt === null || time - this.#failedAt >= worksAfter.ms;
  }

  #fails(time: SteadyTime): boolean {
    const lately = this.#within(failsAfter.ms, time);
    if (lately.failed >= failsAfter.failed && shareOf(lately) >= failsAfter.share) return true;
    const failed = Math.min(this.#failedInRow, this.#within(fiveMinutesMs, time).failed);
    if (failed < failsInRowAfter.failed) return false;
    return this.#arrivedAt === null || time - this.#arrivedAt >= failsInRowAfter.ms;
  }

  /** Whether earlier failures continue up to now. */
  #isFailing(time: SteadyTime): boolean {
    if (shareOf(this.#within(failsAfter.ms, time)) >= worksAfter.share) return true;
    return shareOf(this.#within(fiveMinutesMs, time)) === 1;
  }

  #within(ms: number, time: SteadyTime): TryCounts {
    let tried = 0;
    for (const count of this.#counts.within(ms, time).values()) tried += count;
    return { tried, failed: tried - this.#counts.count(arrived, ms, time) };
  }
}

function shareOf({ tried, failed }: TryCounts): number {
  return tried === 0 ? 0 : failed / tried;
}

function nameOf({ kind, status }: Pick<Failure, 'kind' | 'status'>): string {
  return status === null ? kind : `${kind} ${status}`;
}

function reasonIn(name: string): Pick<TryReason, 'code' | 'status'> {
  const [code, status] = name.split(' ');
  return { code: code as FailureKind, status: status === undefined ? null : Number(status) };
}

/** The delivery attempts of all channels. A bot counts under the registered name. */
export class DeliveryTable {
  readonly #byName = new Map<string, DeliveryTries>();
  readonly #byKey = new Map<ChannelKey, DeliveryTries>();

  began(channel: ChannelKey, time: SteadyTime): void {
    if (mayWaitForRateLimit(channel)) return;
    this.#of(channel).began(time);
  }

  ended(channel: ChannelKey, time: SteadyTime): void {
    if (mayWaitForRateLimit(channel)) return;
    this.#of(channel).ended(time);
  }

  arrived(channel: ChannelKey, time: SteadyTime): void {
    this.#of(channel).arrived(time);
  }

  failed(channel: ChannelKey, failure: Failure, now: number, time: SteadyTime): void {
    this.#of(channel).failed(failure, now, time);
  }

  /** @param now milliseconds since 1970 */
  read(now: number, time: SteadyTime): ReadonlyMap<string, DeliveryMeters> {
    return new Map(Array.from(this.#byName, ([name, tries]) => [name, tries.read(now, time)]));
  }

  #of(channel: ChannelKey): DeliveryTries {
    return this.#byKey.get(channel) ?? this.#create(channel);
  }

  #create(channel: ChannelKey): DeliveryTries {
    const name = registeredNameOf(channel);
    const tries = this.#byName.get(name) ?? new DeliveryTries();
    this.#byName.set(name, tries);
    this.#byKey.set(channel, tries);
    return tries;
  }
}

/** An attempt at a messenger may wait long for its turn, because of the platform's rate limits. */
const mayWaitForRateLimit = (channel: ChannelKey): boolean => channelTypeOf(channel) !== 'webhook';
