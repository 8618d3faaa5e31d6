/**
 * A policy picks the reply. It is a pure function that runs again after every outcome, so early and
 * late decisions follow the same rule.
 */
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome } from '../../domain/outcome.ts';

export interface Policy {
  readonly kind: 'priority' | 'consensus';
  /** @param slots every model of the turn, best rank first */
  judge(slots: readonly Slot[]): Verdict;
}

/** One model of a turn. `outcome` is null while the model may still answer. */
export type Slot = { readonly model: ModelName; readonly outcome: Outcome | null };

export type Votes = readonly (readonly ModelName[])[];

export type Verdict =
  /** `fallback`: the slot of an answer that is the reply if no better one comes; null: none. */
  | { readonly kind: 'wait'; readonly fallback: number | null }
  | { readonly kind: 'reply'; readonly slot: number; readonly why: string; readonly votes: Votes }
  | {
      readonly kind: 'none';
      readonly reason: 'no_consensus' | 'no_answer';
      readonly why: string;
      readonly votes: Votes;
    };
