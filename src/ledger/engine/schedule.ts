/**
 * Times: when a reply is tried again, and when the rows of a channel that is not served die. Which
 * pause follows which attempt is the retry policy's (`src/pipeline/retry-policy.ts`).
 */
import type { Box } from '../../domain/event.ts';
import { failure, type FailureKind, type Failure } from '../../domain/failure.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { isOnChannel, type DeferredFilter, type DeferredGroup } from '../../domain/records.ts';
import type { Clock } from '../../lib/clock.ts';
import { createDeadlines, type Deadlines, type Deadline } from '../../lib/deadlines.ts';
import { dayMs, hourMs, minuteMs } from '../../lib/durations.ts';
import {
  retryAfterMsMax,
  type ChannelBacklog,
  type Claim,
  type Durability,
  type LedgerNews,
} from '../ledger.ts';
import type { OutRow, OutState } from './queue.ts';

/** At most this many replies of a group are examined, those that failed first. */
const examinedMax = 10_000;

type Group = Pick<DeferredGroup, 'channel' | 'failure' | 'status'> & {
  /** In the order in which their last attempts failed. */
  readonly rows: Map<string, OutRow>;
};

/**
 * The replies that wait for their next attempt, by channel and by the reason why the last attempt
 * failed.
 */
export class Schedule {
  readonly #now: () => number;
  readonly #deadlines: Deadlines;
  /** Offers a reply whose time has come. */
  readonly offer: (row: OutRow) => void;
  readonly #groups = new Map<string, Group>();
  /** How many replies wait. */
  size = 0;

  constructor(clock: Clock, offer: (row: OutRow) => void) {
    this.#now = clock.now;
    this.#deadlines = createDeadlines(clock.steady);
    this.offer = offer;
  }

  /**
   * Makes a reply wait until `at`. If that is now or past, the reply is offered at once.
   * @param at milliseconds since 1970. Setting the clock back later does not lengthen the wait
   */
  until(row: OutRow, at: number): void {
    const ms = at - this.#now();
    if (ms <= 0) return this.offer(row);
    row.dueAt = at;
    this.#add(row);
    row.due = this.#deadlines.after(ms, () => {
      row.due = null;
      this.#delete(row);
      this.offer(row);
    });
  }

  /** Cancels the wait of a reply, if it waits. The caller offers it, or it has ended. */
  stop(row: OutRow): void {
    if (row.due === null) return;
    row.due.cancel();
    row.due = null;
    this.#delete(row);
  }

  find(id: string): OutRow | null {
    for (const { rows } of this.#groups.values()) {
      const row = rows.get(id);
      if (row !== undefined) return row;
    }
    return null;
  }

  groups(): DeferredGroup[] {
    return Array.from(this.#groups.values(), ({ rows, ...group }) => {
      let [oldestAt, nextAt] = [Infinity, Infinity];
      for (const { head, dueAt } of rows.values().take(examinedMax)) {
        oldestAt = Math.min(oldestAt, head.createdAt);
        nextAt = Math.min(nextAt, dueAt);
      }
      return { ...group, count: rows.size, oldestAt, nextAt };
    });
  }

  /** Up to `most` replies that match the filter and were last handed out before that time. */
  matching(filter: DeferredFilter, before: number, most: number): OutRow[] {
    const matches: OutRow[] = [];
    for (const { rows, ...group } of this.#groups.values()) {
      if (!isOnChannel(group.channel, filter.channel)) continue;
      if (filter.failure !== null && group.failure !== filter.failure) continue;
      if (filter.status !== null && group.status !== filter.status) continue;
      for (const row of rows.values().take(examinedMax)) {
        if (matches.length >= most) return matches;
        if (row.takenAt < before) matches.push(row);
      }
    }
    return matches;
  }

  #add(row: OutRow): void {
    const key = groupOf(row);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const { kind, status } = reasonOf(row);
      group = { channel: row.queue.channel, failure: kind, status, rows: new Map() };
      this.#groups.set(key, group);
    }
    group.rows.set(row.head.id, row);
    this.size++;
  }

  #delete(row: OutRow): void {
    const key = groupOf(row);
    const group = this.#groups.get(key);
    if (group?.rows.delete(row.head.id) !== true) return;
    this.size--;
    if (group.rows.size === 0) this.#groups.delete(key);
  }
}

/** A reply without a known reason counts as cancelled. */
function reasonOf({ why }: OutRow): { readonly kind: FailureKind; readonly status: number | null } {
  return why ?? { kind: 'cancelled', status: null };
}

function groupOf(row: OutRow): string {
  const { kind, status } = reasonOf(row);
  return `${row.queue.channel} ${kind} ${status}`;
}

/** The promises of every backend that keeps what it accepts. */
export const keptDurability: Durability = {
  durable: true,
  deliveryGapsMs: [
    1_000,
    5_000,
    20_000,
    60_000,
    5 * minuteMs,
    30 * minuteMs,
    ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
  ],
  hotGaps: 4,
  jitter: 0.2,
  drainMs: 5_000,
  drainsBacklog: false,
};

/**
 * When to try a stored reply again. A clock that was ahead may have planned it too late. Then the
 * time becomes the latest that the schedule allows from now.
 * @param retryAfterMs the pause that the receiver asked for; null: none
 * @param now milliseconds since 1970
 * @returns `aheadMs`: how much further away it was than its schedule allows
 */
export function plannedTry(
  { attempt, replayedAfter, dueAt }: Pick<OutState, 'attempt' | 'replayedAfter' | 'dueAt'>,
  retryAfterMs: number | null,
  now: number,
): { readonly dueAt: number | null; readonly aheadMs: number } {
  const latest = now + pauseMsMax(attempt - replayedAfter - 1, retryAfterMs);
  if (dueAt === null || dueAt <= latest) return { dueAt, aheadMs: 0 };
  return { dueAt: latest, aheadMs: dueAt - latest };
}

/** The longest pause after that many attempts of the schedule, in whole milliseconds. */
function pauseMsMax(tries: number, retryAfterMs: number | null): number {
  const askedMs = Math.min(retryAfterMs ?? 0, retryAfterMsMax);
  return Math.ceil(Math.max(longestGapsMs[tries - 1] ?? 0, askedMs, pacedMsMin));
}

/** The shortest pause of a reply that its platform rate-limits. */
export const pacedMsMin = 1_000;

/** The gaps of the schedule with the largest jitter. */
export const longestGapsMs: readonly number[] = keptDurability.deliveryGapsMs.map(
  (gapMs) => gapMs * (1 + keptDurability.jitter),
);

/** Traces are dropped when this many writes are pending. */
export const tracesPendingMax = 5_000;

/**
 * How long a sender waits before it retries while the storage accepts nothing. That passes by
 * itself, like a full inbox.
 */
export const storageRetryMs = 5_000;

/** The cursor with the time since when a channel is not served; empty: the channel is served. */
export const unroutableCursor = 'unroutable_since';

const keptMs = 7 * dayMs;
/** Pause between two checks whether waiting rows are due. */
const checkMs = 60_000;
const batch = 100;

type UnroutableDeps = Clock & {
  readonly backlog: () => readonly Omit<ChannelBacklog, 'unroutableSince'>[];
  readonly news: LedgerNews;
  /** Since when a channel is unroutable, as an earlier process wrote it; null: it is not. */
  readonly read: (channel: ChannelKey) => number | null;
  /** Writes since when the channel is unroutable; null: it is routable. */
  readonly keep: (channel: ChannelKey, since: number | null) => void;
  /** Claims the next n rows of the channel, also those that crash isolation holds back. */
  readonly take: (box: Box, channel: ChannelKey, n: number) => Promise<readonly Claim[]>;
  readonly deadLetter: (claim: Claim, why: Failure) => Promise<boolean>;
};

/**
 * Rows whose channel is not served: it is gone from the configuration, or belongs to another bot.
 * The rows wait, since an operator may bring the channel back. After seven days without service its
 * rows become dead letters, a batch at a time. The senders are not informed, since no channel can
 * reach them. Replies that wait for their next attempt become dead letters when that is due.
 *
 * A channel goes served → unroutable (not served, and has rows; the time is written) → served again
 * or without rows (the time is forgotten). Nothing is unroutable before the first `serve`.
 */
export class Unroutable {
  readonly #deps: UnroutableDeps;
  readonly #deadlines: Deadlines;
  /** The served channels; null: `serve` was not called yet. */
  #served: ReadonlySet<ChannelKey> | null = null;
  /** Since when each channel that is not served and has rows is unroutable. */
  readonly #since = new Map<ChannelKey, number>();
  #next: Deadline | null = null;
  #isDeadLettering = false;
  #closed = false;

  constructor(deps: UnroutableDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.steady);
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#served = new Set(channels);
    for (const channel of channels) this.#forget(channel);
    this.#check();
  }

  /** How many unsettled rows the unroutable channels have. */
  get rows(): number {
    if (this.#served === null) return 0;
    let rows = 0;
    for (const { inbox, outbox } of this.#waiting()) rows += inbox + outbox;
    return rows;
  }

  backlog(): readonly ChannelBacklog[] {
    const since = ({ channel }: { channel: ChannelKey }): number | null =>
      this.#isServed(channel) ? null : (this.#since.get(channel) ?? this.#deps.now());
    const rows = this.#deps.backlog();
    return rows.map((row) => ({ ...row, unroutableSince: since(row) }));
  }

  close(): void {
    this.#closed = true;
    this.#next?.cancel();
  }

  #isServed(channel: ChannelKey): boolean {
    return this.#served === null || this.#served.has(channel);
  }

  #waiting(): ReturnType<UnroutableDeps['backlog']> {
    return this.#deps.backlog().filter(({ channel }) => !this.#isServed(channel));
  }

  #check(): void {
    this.#next?.cancel();
    if (this.#closed) return;
    const waiting = this.#waiting();
    const now = this.#deps.now();
    for (const { channel, inbox, outbox } of waiting) {
      if (!this.#since.has(channel)) this.#begin(channel, inbox + outbox, now);
    }
    for (const channel of this.#since.keys()) {
      if (!waiting.some((row) => row.channel === channel)) this.#forget(channel);
    }
    void this.#deadLetterOld(now);
    this.#next = this.#deadlines.after(checkMs, () => this.#check());
  }

  #begin(channel: ChannelKey, rows: number, now: number): void {
    const { read, keep, news } = this.#deps;
    const kept = read(channel);
    if (kept === null) keep(channel, now);
    const since = kept ?? now;
    this.#since.set(channel, since);
    news.unroutable?.({ channel, rows, since, untilAt: since + keptMs });
  }

  #forget(channel: ChannelKey): void {
    const known = this.#since.delete(channel);
    if (known || this.#deps.read(channel) !== null) this.#deps.keep(channel, null);
  }

  async #deadLetterOld(now: number): Promise<void> {
    if (this.#isDeadLettering) return;
    this.#isDeadLettering = true;
    for (const [channel, since] of this.#since) {
      if (now < since + keptMs) continue;
      while (await this.#deadLetterBatch('in', channel));
      while (await this.#deadLetterBatch('out', channel));
    }
    this.#isDeadLettering = false;
  }

  /** @returns whether there may be more */
  async #deadLetterBatch(box: Box, channel: ChannelKey): Promise<boolean> {
    // Other work runs between two batches.
    await new Promise(setImmediate);
    if (this.#closed || this.#isServed(channel)) return false;
    const claims = await this.#deps.take(box, channel, batch);
    const done = await Promise.all(claims.map((claim) => this.#deadLetterOne(claim, channel)));
    return done.length > 0 && done.every(Boolean);
  }

  async #deadLetterOne(claim: Claim, channel: ChannelKey): Promise<boolean> {
    const { deadLetter, news } = this.#deps;
    const why = failure('unroutable');
    const { box } = claim;
    const { id } = claim.box === 'in' ? claim.message : claim.reply;
    const done = await deadLetter(claim, why);
    if (done) news.buried?.({ box, channel, id, failure: why });
    return done;
  }
}
