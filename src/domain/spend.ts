/**
 * The tokens that calls to models use, and their cost. A model costs if it is declared cloud or has
 * a price. Every other model is free: svc counts its tokens and never refuses a call.
 */
import type { ChannelKey, ModelName } from './ids.ts';

export type Tokens = { readonly input: number; readonly output: number };

/**
 * The price per million tokens, in the operator's currency. Each is a decimal number as text, in
 * plain notation (`0.15`), so that sums are exact. `cachedInput`: the price of input tokens from
 * the provider's cache; absent: the same as other input tokens.
 */
export type Price = {
  readonly input: string;
  readonly output: string;
  readonly cachedInput?: string;
};

/** The account that a call is charged to. */
export type Charged = {
  /** The service's local day, `YYYY-MM-DD`. */
  readonly day: string;
  readonly brain: string;
  readonly model: ModelName;
  /** The price in the configuration at the time of the call; null: there is none. */
  readonly price: Price | null;
  /** Budgets limit this call. */
  readonly costs: boolean;
  /** The person who wrote the message; null: it is a trial. */
  readonly sender: { readonly channel: ChannelKey; readonly id: string } | null;
};

/**
 * The tokens that a call used. `estimated`: the most that it can have used, since its provider
 * reported nothing. `cached`: the input tokens from the provider's cache; absent or null: not
 * reported.
 */
export type Used = Tokens & { readonly estimated: boolean; readonly cached?: number | null };

/** The sum of two calls. */
export function usedByBoth(one: Used, other: Used): Used {
  const cached = one.cached ?? other.cached ?? null;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    estimated: one.estimated || other.estimated,
    ...(cached !== null && { cached: (one.cached ?? 0) + (other.cached ?? 0) }),
  };
}

/** The limits of a brain for models that cost; null: no limit. A day is the service's local day. */
export type Budget = {
  readonly tokensPerTurn: number | null;
  readonly tokensPerDay: number | null;
  /** A decimal number as text, in the currency of the prices. */
  readonly costPerDay: string | null;
  readonly tokensPerSenderPerDay: number | null;
};

/** The limits that hold across turns, with their names in the configuration. */
export type SpendLimit =
  | { readonly kind: 'tokens_per_day'; readonly most: number }
  | { readonly kind: 'cost_per_day'; readonly most: string }
  | { readonly kind: 'tokens_per_sender_per_day'; readonly most: number };

/** All limits, with their names in the configuration. */
export type BudgetLimit = SpendLimit['kind'] | 'tokens_per_turn';

/**
 * The sum of the calls of one row of a report. `cost`: a decimal number; null: no model has a
 * price.
 */
export type Spent = {
  readonly calls: number;
  readonly tokens: Tokens;
  /** The part of `tokens` of models that cost. Budgets limit only this part. */
  readonly costing: Tokens;
  /** The number of calls with estimated tokens. */
  readonly estimatedCalls: number;
  /** Tokens that are reserved by calls whose end was never seen, or is still to come. */
  readonly open: Tokens;
  readonly cost: string | null;
  /** The cost of `open`. */
  readonly openCost: string | null;
};

export const spendKeys = ['day', 'brain', 'model', 'sender'] as const;

/** The ways to group a report. */
export type SpendBy = (typeof spendKeys)[number];

/**
 * One row of a report. `key` is a day, a brain, a model, or the id of a sender whose channel is
 * `channel`. Id and channel of a sender are personal data. Days are the service's local days: the
 * first and the last with calls in this row.
 */
export type SpendRow = Spent & {
  readonly key: string;
  readonly channel: ChannelKey | null;
  readonly firstDay: string;
  readonly lastDay: string;
};

/** The facts of a model that its cost depends on. */
export type Payable = {
  readonly model: ModelName;
  readonly price: Price | null;
  readonly costs: boolean;
};

/**
 * The budget guard of one turn, or of one trial. The caller asks it before each try at a provider,
 * whatever the try is for: a retry, a step of an agent, a model that loses. For a free model it
 * answers at once.
 */
export interface BudgetGuard {
  /** @param most the most tokens that the call may use */
  reserve(payable: Payable, most: Tokens): Reserved | Promise<Reserved | Unpaid>;
}

/**
 * Call `settle` exactly once.
 * @param used null: nothing was sent
 */
export type Reserved = { readonly kind: 'reserved'; settle(used: Used | null): void };

/** `unwritten`: the ledger could not write the reservation, so the call must not be made. */
export type Unpaid = OverBudget | { readonly kind: 'unwritten' };

/**
 * The call does not fit the budget. `opensAt`: when it may fit, milliseconds since 1970; null: not
 * in this turn.
 */
export type OverBudget = { readonly kind: 'over_budget'; readonly opensAt: number | null };
