/**
 * Whether the replies of a channel arrive: its tries to deliver of the last five minutes, and a
 * state that follows from them. The state fails quickly and recovers slowly, so that a receiver
 * that answers now and then does not change it with each answer.
 */
import { minuteMs } from '../lib/durations.ts';
import type { Failure, FailureKind } from '../domain/failure.ts';
import { channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import type { SteadyTime } from '../lib/clock.ts';
import { SlidingCounts } from '../lib/sliding-counts.ts';

export const fiveMinutesMs = 300_000;

/** It fails once at least so many of so long failed, and at least this share of all. */
const failsAfter = { ms: 15_000, failed: 3, share: 0.5 };
/** It works again once something arrived in so long, and less than this share failed. */
const worksAfter = { ms: 30_000, share: 0.1 };
/** Where few replies go out: so many failed one after the other, and none arrived in so long. */
const deafAfter = { ms: 15_000, failed: 3 };
/**
 * It fails already while tries of it are open, once none of at least so many came to its end in so
 * long: a try at one that is silent takes longer to fail than a person should wait to be told.
 * Behind a try that failed, one that is open is enough.
 */
const silentAfter = { ms: 10_000, open: 3, openAfterFailure: 1 };

/** What there is to say of the tries of some time. */
export type TryCounts = { readonly tried: number; readonly failed: number };

/** `status`: what the receiver answered; null: there was no answer, or none with a status. */
export type TryReason = {
  readonly code: FailureKind;
  readonly status: number | null;
  readonly minute: number;
  readonly fiveMinutes: number;
};

export type DeliveryMeters = {
  /** Since when it fails, milliseconds since 1970; null: it does not, as far as is known. */
  readonly failingSince: number | null;
  readonly minute: TryCounts;
  readonly fiveMinutes: TryCounts;
  /** Why tries failed in the last five minutes, in no order. */
  readonly reasons: readonly TryReason[];
};

/** Failures of svc's own, which say nothing of the receiver. */
const noEvidence: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'cancelled',
  'fault',
  'poison',
  'unroutable',
]);

/** So many reasons are told apart; what comes beyond counts as `fault`. */
const reasonsMax = 40;
const arrived = 'arrived';

export class DeliveryTries {
  readonly #counts = new SlidingCounts<string>(reasonsMax, nameOf({ kind: 'fault', status: null }));
  /** When the failures began of which the last ones are. */
  #beganAt = 0;
  #failingSince: number | null = null;
  /** Since it began to fail. */
  #hasArrived = false;
  /** Tries that have begun and not ended. */
  #open = 0;
  /** When one ended, or the first of those began that are open. */
  #stirredAt = 0;
  /** How many failed since the last one arrived, or since the first. */
  #failedInRow = 0;
  #arrivedAt: SteadyTime | null = null;
  #failedAt: SteadyTime | null = null;

  began(time: SteadyTime): void {
    if (this.#open++ === 0) this.#stirredAt = time;
  }

  /** However it ended: also one that was stopped is open no more. */
  ended(time: SteadyTime): void {
    this.#open--;
    this.#stirredAt = time;
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
    this.#judge(now, time);
  }

  /** @param now milliseconds since 1970 */
  read(now: number, time: SteadyTime): DeliveryMeters {
    this.#judge(now, time);
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
    const silentMs = Math.round(time - this.#stirredAt);
    const { open, openAfterFailure, ms } = silentAfter;
    const hasFailed = this.#failedInRow > 0;
    if (this.#open < (hasFailed ? openAfterFailure : open) || silentMs < ms) return null;
    return hasFailed ? this.#beganAt : now - silentMs;
  }

  /** Only what arrives ends it: tries of a silent one that end do not, nor what arrived before. */
  #judge(now: number, time: SteadyTime): void {
    if (this.#failingSince === null) {
      this.#failingSince = this.#fails(time) ? this.#beganAt : this.#silentSince(now, time);
      this.#hasArrived = false;
      return;
    }
    if (this.#hasArrived && this.#works(time)) this.#failingSince = null;
  }

  /** Where nothing more is to be delivered, what arrived last tells it. */
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
    if (failed < deafAfter.failed) return false;
    return this.#arrivedAt === null || time - this.#arrivedAt >= deafAfter.ms;
  }

  /** The failures before this one go on. */
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

/** The tries of all channels: a bot is counted under the type of its messenger. */
export class DeliveryTable {
  readonly #byType = new Map<string, DeliveryTries>();
  readonly #byKey = new Map<ChannelKey, DeliveryTries>();

  began(channel: ChannelKey, time: SteadyTime): void {
    if (waitsItself(channel)) return;
    this.#of(channel).began(time);
  }

  ended(channel: ChannelKey, time: SteadyTime): void {
    if (waitsItself(channel)) return;
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
    return new Map(Array.from(this.#byType, ([type, tries]) => [type, tries.read(now, time)]));
  }

  #of(channel: ChannelKey): DeliveryTries {
    return this.#byKey.get(channel) ?? this.#meet(channel);
  }

  #meet(channel: ChannelKey): DeliveryTries {
    const type = channelTypeOf(channel);
    const tries = this.#byType.get(type) ?? new DeliveryTries();
    this.#byType.set(type, tries);
    this.#byKey.set(channel, tries);
    return tries;
  }
}

/** A try at a messenger may wait long for its turn by the limits of the platform. */
const waitsItself = (channel: ChannelKey): boolean => channelTypeOf(channel) !== 'webhook';
