/**
 * Tool calls and the rights of tools: grants, outcomes, the audit, and the states of MCP servers.
 */
import type { ChannelKey, ConversationId } from './ids.ts';
import type { Sensitivity } from './sensitivity.ts';

/** How the operator's grant lets an agent use a tool. */
export const grantModes = ['allow', 'ask', 'shadow', 'deny'] as const;

export type GrantMode = (typeof grantModes)[number];

/**
 * A tool with its rights on one channel. `cage` describes its cage in a few words; null: it needs
 * none.
 */
export type Ability = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly cage: string | null;
  /**
   * Its server is up, and the tool is as it was pinned. A tool without a server is always
   * available.
   */
  readonly isAvailable: boolean;
};

/**
 * The outcome of one call.
 * - `asked`: the call waits for an approval.
 * - `rehearsed`: the grant is shadow, so the call did not run.
 * - `denied`: there is no grant.
 * - `refused`: the cage refused it.
 * - `invalid`: the arguments were wrong.
 * - `unknown`: the call had begun when the process died, and svc did not repeat it.
 */
export const toolOutcomes = [
  'done',
  'failed',
  'asked',
  'rehearsed',
  'denied',
  'refused',
  'invalid',
  'unknown',
] as const;

export type ToolOutcome = (typeof toolOutcomes)[number];

/** One call in the audit. The place that shows the row decides who may see the arguments. */
export type ToolUse = {
  /** `message:iteration:n`; with a number behind it if an earlier run used that key. */
  readonly key: string;
  readonly at: number;
  readonly ms: number;
  readonly tool: string;
  readonly mode: GrantMode;
  /** The rule that decided: a grant, or a rule of the cage. */
  readonly rule: string;
  readonly outcome: ToolOutcome;
  /** The arguments from the model, as JSON text, cut. */
  readonly arguments: string;
};

/** A call with its result for the model; `told` null: the result was not kept, or not seen. */
export type ToolUseWithResult = ToolUse & { readonly told: string | null };

/** One call in the audit, without any text of a person or a model. */
export type ToolUseRow = Omit<ToolUse, 'arguments'> & {
  readonly messageId: string;
  readonly channel: ChannelKey;
};

/**
 * One call in the audit with its texts. Without storage `arguments` is null and `conversation` is
 * empty, since svc does not keep them. `told` is the beginning of the result for the model; null:
 * not kept.
 */
export type ToolUseText = ToolUseRow & {
  readonly conversation: ConversationId;
  readonly arguments: string | null;
  readonly told: string | null;
};

/** A call with effects elsewhere, as the ledger writes it before it runs. */
export type BegunCall = Omit<ToolUse, 'ms' | 'outcome'> & {
  /** The hash of tool and arguments: SHA-256 over canonical JSON, as base64. */
  readonly hash: string;
  /** The label of the turn. The result of the call has it too. */
  readonly sensitivity: Sensitivity;
};

/** The end of a call. `text` is its result for the model. */
export type CallEnding = {
  readonly text: string;
  readonly outcome: ToolOutcome;
  readonly ms: number;
};

/** A call that an earlier run of the same message began; `ending` null: nobody saw its end. */
export type EarlierCall = Pick<BegunCall, 'key' | 'tool' | 'arguments' | 'sensitivity'> & {
  readonly ending: CallEnding | null;
};

/**
 * The answer of the tool-call log, before a call runs.
 * - `run`: the call may run.
 * - `unknown`: the call had begun before, and nobody saw its end.
 * - `done`: the call has run already.
 * - `unwritten`: the ledger cannot write it, so it must not run.
 *
 * `key` is the key of the earlier call.
 */
export type LoggedCall =
  | { readonly kind: 'run' }
  | { readonly kind: 'unknown'; readonly key: string }
  | { readonly kind: 'done'; readonly key: string; readonly ending: CallEnding }
  | { readonly kind: 'unwritten' };

/** Grants and outcomes of tool calls in words. */
export const modeWords: Readonly<Record<GrantMode, string>> = {
  allow: 'allowed',
  ask: 'only after a yes',
  shadow: 'in shadow',
  deny: 'not granted',
};

export const outcomeWords: Readonly<Record<ToolOutcome, string>> = {
  done: 'done',
  failed: 'failed',
  asked: 'waits for a yes',
  rehearsed: 'rehearsed: it did not run',
  denied: 'denied',
  refused: 'refused by the cage',
  invalid: 'wrong arguments',
  unknown: 'not known: svc ended under it',
};

const rules: Readonly<Record<string, string>> = {
  no_governance: 'no grants are set',
  no_grant: 'no grant for it',
  no_notes: 'the completions API keeps no notes',
  not_listed: 'not a tool of this agent',
  ask_waits: 'the same call waits already',
  ask_too_many: 'too many calls wait',
  ask_unread: 'what waits could not be read',
  approved_by_approver: 'approved by an approver',
  approved_by_operator: 'approved by the operator',
};

/** The rule that decided: `governance[0]` → `grant 1`, and a rule of the cage in plain words. */
export function describeRule(rule: string): string {
  const at = /^governance\[(\d+)\]$/.exec(rule)?.[1];
  if (at !== undefined) return `grant ${Number(at) + 1}`;
  return (Object.hasOwn(rules, rule) ? rules[rule] : undefined) ?? rule.replaceAll('_', ' ');
}

/**
 * The states of the agents' MCP servers and of their tools, without anything that a server says.
 */

export const mcpServerStates = ['starting', 'up', 'down', 'ended'] as const;
export type McpServerState = (typeof mcpServerStates)[number];

/**
 * `waiting`: the server is not up. `missing`: the server does not offer the tool, or its definition
 * is too large. `changed`: the tool is not as it was pinned.
 */
export const mcpToolStates = ['announced', 'waiting', 'missing', 'not_pinned', 'changed'] as const;
export type McpToolState = (typeof mcpToolStates)[number];

export type McpHealth = {
  readonly brain: string;
  readonly server: string;
  readonly kind: 'command' | 'url';
  readonly state: McpServerState;
  /** Why the server is down; null: it is not down. */
  readonly reason: string | null;
  readonly tools: readonly { readonly tool: string; readonly state: McpToolState }[];
};
