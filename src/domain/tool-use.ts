import type { ChannelKey, ConversationId } from './ids.ts';

/** How a tool may be used, by the operator's grant. */
export const grantModes = ['allow', 'shadow', 'deny'] as const;

export type GrantMode = (typeof grantModes)[number];

/** A tool as it stands somewhere. `cage` in a few words; null: it needs none. */
export type Ability = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly cage: string | null;
};

/**
 * What became of one call. `rehearsed`: shadow, so it did not run. `denied`: no grant. `refused`:
 * the cage said no. `invalid`: the arguments were wrong. `unknown`: it had begun when the process
 * died, and was not repeated.
 */
export const toolOutcomes = [
  'done',
  'failed',
  'rehearsed',
  'denied',
  'refused',
  'invalid',
  'unknown',
] as const;

export type ToolOutcome = (typeof toolOutcomes)[number];

/** One call in the audit: who may see the arguments is decided where it is shown. */
export type ToolUse = {
  /** `message:iteration:n`. */
  readonly key: string;
  readonly at: number;
  readonly ms: number;
  readonly tool: string;
  readonly mode: GrantMode;
  /** The rule that decided: a grant, or a rule of the cage. */
  readonly rule: string;
  readonly outcome: ToolOutcome;
  /** As the model gave them, as JSON text, cut. */
  readonly arguments: string;
};

/** One call in the audit, without anything that a person or a model wrote. */
export type ToolUseRow = Omit<ToolUse, 'arguments'> & {
  readonly messageId: string;
  readonly channel: ChannelKey;
};

/** `arguments` null: without storage they are not kept, nor is the conversation (then empty). */
export type ToolUseText = ToolUseRow & {
  readonly conversation: ConversationId;
  readonly arguments: string | null;
};

/** Whether a call may run, had begun before (and nobody saw its end), or is done already. */
export type Journaled =
  | { readonly kind: 'run' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'done'; readonly text: string };
