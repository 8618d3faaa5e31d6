/**
 * Whether the replies of a channel arrive: its delivery attempts of the last five minutes, and a
 * state derived from them. The state gets worse quickly and better slowly. So a receiver that
 * answers now and then does not change it with each answer.
 */
import { fiveMinutesMs, minuteMs } from '../lib/durations.ts';
import type { Failure, FailureKind } from '../domain/failure.ts';
import { channelTypeOf, registeredNameOf, type ChannelKey } from '../domain/ids.ts';
import type { SteadyTime } from '../lib/clock.ts';
import { SlidingCounts } from '../lib/sliding-counts.ts';

/**
 * The receiver fails in part once at least `failed` attempts within `ms` failed, and at least this
 * share of all: quickly if it is half of them, or else by the share of a minute.
 */
const failsAfter = [
  { ms: 15_000, failed: 3, share: 0.5 },
  { ms: minuteMs, failed: 3, share: 0.15 },
] as const;
/** It works again once less than this share of the last minute's attempts failed. */
const worksBelow = 0.05;
/**
 * No reply arrives once this many attempts in a row failed, and none has arrived for `ms`. A
 * receiver that refuses what a reply says has answered: then it takes more, or a longer time.
 */
const noneAfter = { ms: 15_000, failed: 3, refused: 10, refusedMs: fiveMinutesMs };
/** A state gets better this long after its last change at the earliest. */
const holdMs = 30_000;
/**
 * The receiver fails while attempts are still open, once at least `open` of them are open and none
 * has ended for `ms`. An attempt at a silent receiver takes longer to fail than a person should
 * wait for the report. After a failed attempt, one open attempt is enough.
 */
const silentAfter = { ms: 10_000, open: 3, openAfterFailure: 1 };
/** How far back the present failures reach, for the time at which they began. */
const sameFailure = { ms: 15_000, share: 0.1 };

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
  /** False: no reply arrives. True: all arrive, or some. */
  readonly someArrive: boolean;
  readonly minute: TryCounts;
  readonly fiveMinutes: TryCounts;
  /** Why attempts failed in the last five minutes, in no order. */
  readonly reasons: readonly TryReason[];
};

/** `isAgain`: an earlier try of the same reply failed. */
type FailedTry = Pick<Failure, 'kind' | 'status'> & { readonly isAgain?: boolean };

/** Failures of svc itself, which are no evidence about the receiver. */
const noEvidence: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'cancelled',
  'fault',
  'poison',
  'unroutable',
]);

/**
 * Whether the receiver refused this one reply, and others may arrive: for what the reply says, or
 * because its chat is gone. 405 and 410 are about the address.
 */
const isAboutReply = ({ kind, status }: Pick<Failure, 'kind' | 'status'>): boolean =>
  (kind === 'rejected' && status !== 405) || (kind === 'gone' && status !== 410);

/** The most reasons that are counted separately. Further ones count as `fault`. */
const reasonsMax = 40;
const arrived = 'arrived';

export class DeliveryTries {
  readonly #counts = new SlidingCounts<string>(reasonsMax, nameOf({ kind: 'fault', status: null }));
  #arrives: 'all' | 'some' | 'none' = 'all';
  #changedAt = 0 as SteadyTime;
  /** When the present failures began. */
  #beganAt = 0;
  #failingSince: number | null = null;
  /** Whether a reply arrived since none did. */
  #hasArrived = false;
  /** Attempts that have begun and not ended. */
  #open = 0;
  /** When the last attempt ended, or when the first of the open ones began. */
  #lastProgressAt = 0;
  /** The attempts that failed since the last arrival; `other`: not about the reply. */
  #inRow = { failed: 0, other: 0, firstAt: 0, lastAt: 0 };
  #arrivedAt: SteadyTime | null = null;

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
    this.#inRow.failed = 0;
    this.#inRow.other = 0;
    this.#arrivedAt = time;
    this.#hasArrived = true;
  }

  /** @param now milliseconds since 1970 */
  failed(failure: FailedTry, now: number, time: SteadyTime): void {
    if (noEvidence.has(failure.kind)) return;
    const row = this.#inRow;
    if (row.failed === 0 && !this.#isSameFailure(time)) this.#beganAt = now;
    this.#counts.add(nameOf(failure), time);
    const isOther = !isAboutReply(failure);
    // That a receiver refuses the same reply once more says nothing about the others.
    if (isOther || failure.isAgain !== true || this.#arrivedAt === null) {
      if (row.failed++ === 0) row.firstAt = time;
      if (isOther) row.other++;
      row.lastAt = time;
    }
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
      someArrive: this.#arrives !== 'none',
      minute: this.#within(minuteMs, time),
      fiveMinutes: this.#within(fiveMinutesMs, time),
      reasons,
    };
  }

  /** "Since" stays while a failure gets worse or eases. */
  #updateState(now: number, time: SteadyTime): void {
    const silentSince = this.#silentSince(now, time);
    const arrives = this.#next(silentSince !== null, time);
    if (arrives === this.#arrives) return;
    if (this.#arrives === 'all') this.#failingSince = silentSince ?? this.#beganAt;
    if (arrives === 'all') this.#failingSince = null;
    if (arrives === 'none') this.#hasArrived = false;
    this.#arrives = arrives;
    this.#changedAt = time;
  }

  /** Only a new arrival ends `none`. Attempts at a silent receiver that end do not. */
  #next(isSilent: boolean, time: SteadyTime): 'all' | 'some' | 'none' {
    const was = this.#arrives;
    if (this.#isNone(isSilent, time)) return 'none';
    if (was === 'all') return isSilent || this.#fails(time) ? 'some' : 'all';
    if (time - this.#changedAt < holdMs || (was === 'none' && !this.#hasArrived)) return was;
    return isSilent || shareOf(this.#within(minuteMs, time)) >= worksBelow ? 'some' : 'all';
  }

  #silentSince(now: number, time: SteadyTime): number | null {
    const silentMs = Math.round(time - this.#lastProgressAt);
    const { open, openAfterFailure, ms } = silentAfter;
    const hasFailed = this.#inRow.failed > 0;
    if (this.#open < (hasFailed ? openAfterFailure : open) || silentMs < ms) return null;
    return hasFailed ? this.#beganAt : now - silentMs;
  }

  #isNone(isSilent: boolean, time: SteadyTime): boolean {
    const { failed, other, firstAt, lastAt } = this.#inRow;
    const sinceMs = this.#arrivedAt === null ? Infinity : time - this.#arrivedAt;
    if (sinceMs < noneAfter.ms) return false;
    if (isSilent) return true;
    if (Math.min(failed, this.#within(fiveMinutesMs, time).failed) < noneAfter.failed) return false;
    if (this.#arrivedAt === null || other >= noneAfter.failed) return true;
    const isLongRow = failed >= noneAfter.refused && time - firstAt >= noneAfter.ms;
    return isLongRow || lastAt - firstAt >= noneAfter.refusedMs;
  }

  #fails(time: SteadyTime): boolean {
    return failsAfter.some(({ ms, failed, share }) => {
      const lately = this.#within(ms, time);
      return lately.failed >= failed && shareOf(lately) >= share;
    });
  }

  /** Whether earlier failures continue up to now. */
  #isSameFailure(time: SteadyTime): boolean {
    if (shareOf(this.#within(sameFailure.ms, time)) >= sameFailure.share) return true;
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

  failed(channel: ChannelKey, failure: FailedTry, now: number, time: SteadyTime): void {
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
