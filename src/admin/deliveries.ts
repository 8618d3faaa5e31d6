import type { TryCounts, TryReason } from '../telemetry/delivery-meters.ts';

/**
 * Whether the replies of a channel arrive. It is `failing` after several failed tries, also if some
 * arrive, and works again after a minute with almost no failure. `unknown`: no tries for five
 * minutes. All bots of a messenger count as one channel.
 */
export type DeliveryStatus = {
  readonly channel: string;
  readonly state: 'arriving' | 'failing' | 'unknown';
  /** When it began to fail, in milliseconds since 1970; null: it does not fail. */
  readonly since: number | null;
  /**
   * Tells apart a receiver that fails at some replies from one at which none arrives. It is false
   * once tries still fail 15 s after the last arrival, and true again half a minute later. null: it
   * is not known, or svc is too old to say.
   */
  readonly someArrive: boolean | null;
  /** Tries of the last minute, and of the last five minutes. */
  readonly minute: TryCounts;
  readonly fiveMinutes: TryCounts;
  /** Reasons of failures, the most frequent of the last minute first. */
  readonly reasons: readonly TryReason[];
  /** Replies that have not arrived yet, including those under way. */
  readonly waiting: number;
  /** When the oldest of them was made; null: none waits. */
  readonly oldestAt: number | null;
};
