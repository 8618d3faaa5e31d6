import type { ModelName } from './ids.ts';

/** Why no model's answer is the reply. Each has one sentence for the sender (flow/sentences). */
export const apologies = [
  'no_consensus',
  'busy',
  'no_answer',
  'over_budget',
  'unfinished',
  'unseen',
  'too_long',
  'fault',
] as const;
export type Apology = (typeof apologies)[number];

/** `opensAt`: when it answers again, ms since 1970; null: the turn alone is too large. */
export type Sorry =
  | { readonly apology: Exclude<Apology, 'over_budget'> }
  | { readonly apology: 'over_budget'; readonly opensAt: number | null };

/** What a brain says to one turn. A brain does not throw: a failure is a decision. */
export type Decision =
  | {
      readonly kind: 'reply';
      readonly text: string;
      readonly model: ModelName;
      readonly why: string;
    }
  | ({ readonly kind: 'apology'; readonly why: string } & Sorry);
