/** A decision: the reply of a brain to one turn, or the reason why there is none. */
import type { ModelName } from './ids.ts';
import type { ToolCall } from './outcome.ts';

/**
 * The reasons why no model's answer is the reply. Each has one sentence for the sender
 * (src/pipeline/sentences.ts).
 */
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

/**
 * The facts of an apology. `opensAt`: when the budget has room again, in milliseconds since 1970;
 * null: this turn alone is too large.
 */
export type ApologyFacts =
  | { readonly apology: Exclude<Apology, 'over_budget'> }
  | { readonly apology: 'over_budget'; readonly opensAt: number | null };

/** The result of one turn of a brain. A brain does not throw: a failure is a decision. */
export type Decision =
  | {
      readonly kind: 'reply';
      readonly text: string;
      readonly model: ModelName;
      readonly why: string;
      /** The calls of a client's own tools, which the client runs; absent: none. */
      readonly calls?: readonly ToolCall[];
      /** The provider cut the text at a limit of its length. */
      readonly isCut?: true;
    }
  | ({ readonly kind: 'apology'; readonly why: string } & ApologyFacts);

/** The end of a turn without a decision: nobody waits for the answer any more. */
export type Abandoned = { readonly kind: 'abandoned'; readonly why: string };
