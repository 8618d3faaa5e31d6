/**
 * What was spent, kept in the ledger by day, brain, model, price and sender. Before a call to a
 * model that costs, the most that it may use is reserved; after it, what it used takes that place.
 * A process that dies leaves what it had reserved: it counts until the day is over. All who work on
 * one ledger share its sums, so that a budget holds over all instances, plans and restarts.
 */
import type { Charged, SpendBy, SpendLimit, SpendRow, Tokens, Used } from '../domain/spend.ts';

/** `over`: it does not fit under that limit, and nothing was written. */
export type Reserving =
  | { readonly kind: 'reserved'; readonly sums: readonly LimitSum[] }
  | { readonly kind: 'over'; readonly limit: SpendLimit }
  | { readonly kind: 'unwritten' };

/** What stood under a limit before this reservation: used and reserved, as `most` is written. */
export type LimitSum = { readonly limit: SpendLimit; readonly before: number | string };

export interface SpendBook {
  /**
   * Reserves the most that a call may use, if with it every limit holds. Resolves once that is
   * written as safely as an accepted message. Never rejects.
   * @param limits count the models that cost alone: of the day and the brain, or of these and the
   *   sender
   */
  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving>;
  /**
   * A call is over. Nobody waits for this write, and it lands no later than what is asked of the
   * ledger after it; of a model that is free a second later.
   * @param reserved what `reserve` wrote for it; null: nothing, since the model is free
   * @param used null: nothing, since it was not sent; then no call is counted
   */
  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void;
}

/** Part of the reader. */
export interface SpendReader {
  /**
   * Largest cost first, then most tokens; at most 1,000 rows. Of what is older than 400 days, and
   * of senders than the storage keeps texts, nothing is kept.
   * @param since a local day, `YYYY-MM-DD`
   */
  spent(by: SpendBy, since: string): Promise<readonly SpendRow[]>;
}
