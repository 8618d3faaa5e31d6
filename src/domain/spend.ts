/**
 * What calls to models use, and what that costs. A model costs where it is declared cloud or has a
 * price; any other is free: what it uses is counted, and never refused.
 */
import type { ChannelKey, ModelName } from './ids.ts';

export type Tokens = { readonly input: number; readonly output: number };

/**
 * Per million tokens, in whatever currency the operator counts in. Each is a decimal number as
 * text, in plain notation (`0.15`), so that sums are exact. `cachedInput`: of input tokens that
 * came from the provider's cache; absent: that of all others.
 */
export type Price = {
  readonly input: string;
  readonly output: string;
  readonly cachedInput?: string;
};

/** What a call is charged to. */
export type Charged = {
  /** The service's local day, `YYYY-MM-DD`. */
  readonly day: string;
  readonly brain: string;
  readonly model: ModelName;
  /** That of the configuration when the call was made; null: it has none. */
  readonly price: Price | null;
  /** Budgets hold for it. */
  readonly costs: boolean;
  /** Who wrote the message; null: nobody did, it is a trial. */
  readonly sender: { readonly channel: ChannelKey; readonly id: string } | null;
};

/**
 * What a call used; `estimated`: at most, since its provider told nothing. `cached`: of the input
 * tokens, those from the provider's cache; absent or null: it told none.
 */
export type Used = Tokens & { readonly estimated: boolean; readonly cached?: number | null };

/** What two calls used. */
export function usedByBoth(one: Used, other: Used): Used {
  const cached = one.cached ?? other.cached ?? null;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    estimated: one.estimated || other.estimated,
    ...(cached !== null && { cached: (one.cached ?? 0) + (other.cached ?? 0) }),
  };
}

/** What a brain may use of models that cost; null: no bound. A day is the service's local one. */
export type Budget = {
  readonly tokensPerTurn: number | null;
  readonly tokensPerDay: number | null;
  /** A decimal number as text, in the currency of the prices. */
  readonly costPerDay: string | null;
  readonly tokensPerSenderPerDay: number | null;
};

/** The bounds that are kept over turns, by the names that a configuration gives them. */
export type SpendLimit =
  | { readonly kind: 'tokens_per_day'; readonly most: number }
  | { readonly kind: 'cost_per_day'; readonly most: string }
  | { readonly kind: 'tokens_per_sender_per_day'; readonly most: number };

/** What was used by one key of a report. `cost`: a decimal number; null: no model has a price. */
export type Spent = {
  readonly calls: number;
  readonly tokens: Tokens;
  /** Of `tokens`, what models used that cost: what budgets hold for. */
  readonly costing: Tokens;
  /** How many of the calls are estimated. */
  readonly estimatedCalls: number;
  /** Reserved by calls whose end was never seen, or is still to come. */
  readonly open: Tokens;
  readonly cost: string | null;
  /** What `open` would cost. */
  readonly openCost: string | null;
};

export const spendKeys = ['day', 'brain', 'model', 'sender'] as const;

/** What a report adds up by. */
export type SpendBy = (typeof spendKeys)[number];

/**
 * One line of a report: `key` is a day, a brain, a model, or the id of a sender (whose channel is
 * `channel`; both are people's data). Days are the service's local ones, the first and last with
 * anything in it.
 */
export type SpendRow = Spent & {
  readonly key: string;
  readonly channel: ChannelKey | null;
  readonly firstDay: string;
  readonly lastDay: string;
};

/** What is known of a model that is to be paid for. */
export type Payable = {
  readonly model: ModelName;
  readonly price: Price | null;
  readonly costs: boolean;
};

/**
 * Pays for the calls of one turn, or of one trial. It is asked before each try at a provider,
 * whatever the try is for: a retry, a step of an agent, a model that loses. Of a model that is free
 * it answers at once.
 */
export interface BudgetGuard {
  /** @param most the most tokens that the call may use */
  reserve(payable: Payable, most: Tokens): Reserved | Promise<Reserved | Unpaid>;
}

/** `settle` is called exactly once. @param used null: nothing was sent */
export type Reserved = { readonly kind: 'reserved'; settle(used: Used | null): void };

/** `unwritten`: the ledger could not write it down, so that the call may not be made. */
export type Unpaid = OverBudget | { readonly kind: 'unwritten' };

/** It does not fit. `opensAt`: when it may, milliseconds since 1970; null: not in this turn. */
export type OverBudget = { readonly kind: 'over_budget'; readonly opensAt: number | null };
