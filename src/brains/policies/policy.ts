/**
 * A policy picks the reply. It is pure, and asked again after every outcome, so an early decision
 * is the same rule as a late one.
 */
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome } from '../../domain/outcome.ts';

export interface Policy {
  readonly kind: 'priority' | 'consensus';
  /** @param slots every model that takes part, best rank first */
  judge(slots: readonly Slot[]): Verdict;
}

/** One model's place in a turn. `outcome` is null while it may still answer. */
export type Slot = { readonly model: ModelName; readonly outcome: Outcome | null };

export type Votes = readonly (readonly ModelName[])[];

export type Verdict =
  /** `fallback`: index of an answer in hand that would do if nothing better came; null: none. */
  | { readonly kind: 'wait'; readonly fallback: number | null }
  | { readonly kind: 'reply'; readonly slot: number; readonly why: string; readonly votes: Votes }
  | {
      readonly kind: 'none';
      readonly reason: 'no_consensus' | 'no_answer';
      readonly why: string;
      readonly votes: Votes;
    };
