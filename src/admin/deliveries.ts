import type { TryCounts, TryReason } from '../telemetry/delivery-meters.ts';

/**
 * Whether the replies of a channel arrive. `failing` needs several tries that failed, and ends only
 * once most arrive again for half a minute; `unknown`: nothing was tried for five minutes. Its bots
 * are one.
 */
export type DeliveryStatus = {
  readonly channel: string;
  readonly state: 'arriving' | 'failing' | 'unknown';
  /** Since when it fails, milliseconds since 1970; null: it does not. */
  readonly since: number | null;
  /** Tries of the last minute, and of the last five. */
  readonly minute: TryCounts;
  readonly fiveMinutes: TryCounts;
  /** Why they failed, the most frequent of the last minute first. */
  readonly reasons: readonly TryReason[];
  /** Replies that did not arrive yet, those that are being tried included. */
  readonly waiting: number;
  /** When the oldest of them was made; null: none waits. */
  readonly oldestAt: number | null;
};
