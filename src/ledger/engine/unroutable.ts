/**
 * Rows whose channel is not served: it is gone from the configuration, or belongs to another bot.
 * The rows wait, since an operator may bring the channel back. After seven days without service its
 * rows become dead letters, a batch at a time. The senders are not informed, since no channel can
 * reach them. Replies that wait for their next attempt become dead letters when that is due.
 *
 * A channel goes served → unroutable (not served, and has rows; the time is written) → served again
 * or without rows (the time is forgotten). Nothing is unroutable before the first `serve`.
 */
import { dayMs } from '../../lib/durations.ts';
import type { Box } from '../../domain/event.ts';
import { failure, type Failure } from '../../domain/failure.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Clock } from '../../lib/clock.ts';
import { createDeadlines, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import type { ChannelBacklog, Claim, LedgerNews } from '../ledger.ts';

/** The cursor with the time since when a channel is not served; empty: the channel is served. */
export const unroutableCursor = 'unroutable_since';

const keptMs = 7 * dayMs;
/** Pause between two checks whether waiting rows are due. */
const checkMs = 60_000;
const batch = 100;

export type UnroutableDeps = Clock & {
  readonly backlog: () => readonly Omit<ChannelBacklog, 'unroutableSince'>[];
  readonly news: LedgerNews;
  /** Since when a channel is unroutable, as an earlier process wrote it; null: it is not. */
  readonly read: (channel: ChannelKey) => number | null;
  /** Writes since when the channel is unroutable; null: it is routable. */
  readonly keep: (channel: ChannelKey, since: number | null) => void;
  /** Claims the next n rows of the channel, also those that crash isolation holds back. */
  readonly take: (box: Box, channel: ChannelKey, n: number) => Promise<readonly Claim[]>;
  readonly bury: (claim: Claim, why: Failure) => Promise<boolean>;
};

export class Unroutable {
  readonly #deps: UnroutableDeps;
  readonly #deadlines: Deadlines;
  /** The served channels; null: `serve` was not called yet. */
  #served: ReadonlySet<ChannelKey> | null = null;
  /** Since when each channel that is not served and has rows is unroutable. */
  readonly #since = new Map<ChannelKey, number>();
  #next: Deadline | null = null;
  #isBurying = false;
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
    void this.#buryOld(now);
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

  async #buryOld(now: number): Promise<void> {
    if (this.#isBurying) return;
    this.#isBurying = true;
    for (const [channel, since] of this.#since) {
      if (now < since + keptMs) continue;
      while (await this.#buryBatch('in', channel));
      while (await this.#buryBatch('out', channel));
    }
    this.#isBurying = false;
  }

  /** @returns whether there may be more */
  async #buryBatch(box: Box, channel: ChannelKey): Promise<boolean> {
    // Other work runs between two batches.
    await new Promise(setImmediate);
    if (this.#closed || this.#isServed(channel)) return false;
    const claims = await this.#deps.take(box, channel, batch);
    const done = await Promise.all(claims.map((claim) => this.#bury(claim, channel)));
    return done.length > 0 && done.every(Boolean);
  }

  async #bury(claim: Claim, channel: ChannelKey): Promise<boolean> {
    const { bury, news } = this.#deps;
    const why = failure('unroutable');
    const { box } = claim;
    const { id } = claim.box === 'in' ? claim.message : claim.reply;
    const done = await bury(claim, why);
    if (done) news.buried?.({ box, channel, id, failure: why });
    return done;
  }
}
