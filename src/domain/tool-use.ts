import type { ChannelKey, ConversationId } from './ids.ts';
import type { Sensitivity } from './sensitivity.ts';

/** How a tool may be used, by the operator's grant. */
export const grantModes = ['allow', 'ask', 'shadow', 'deny'] as const;

export type GrantMode = (typeof grantModes)[number];

/** A tool with its rights on one channel. `cage` in a few words; null: it needs none. */
export type Ability = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly cage: string | null;
  /** Its server is there, and it is as it was pinned; of tools without a server always. */
  readonly isAvailable: boolean;
};

/**
 * What became of one call. `asked`: it waits for a person's yes. `rehearsed`: shadow, so it did not
 * run. `denied`: no grant. `refused`: the cage said no. `invalid`: the arguments were wrong.
 * `unknown`: it had begun when the process died, and was not repeated.
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

/** One call in the audit; the place that shows it decides who may see the arguments. */
export type ToolUse = {
  /** `message:iteration:n`; with a number behind it where an earlier run used that key. */
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

/** A call, and what its model was told of it; null: that was not kept, or not seen. */
export type ToolUseWithResult = ToolUse & { readonly told: string | null };

/** One call in the audit, without anything that a person or a model wrote. */
export type ToolUseRow = Omit<ToolUse, 'arguments'> & {
  readonly messageId: string;
  readonly channel: ChannelKey;
};

/**
 * `arguments` null: without storage they are not kept, nor is the conversation (then empty). `told`
 * is the beginning of what the model was told of it; null: that is not kept.
 */
export type ToolUseText = ToolUseRow & {
  readonly conversation: ConversationId;
  readonly arguments: string | null;
  readonly told: string | null;
};

/** A call that changes something elsewhere, as it is written down before it runs. */
export type BegunCall = Omit<ToolUse, 'ms' | 'outcome'> & {
  /** Names tool and arguments: SHA-256 over canonical JSON, as base64. */
  readonly hash: string;
  /** That of the turn: what is found belongs to it. */
  readonly sensitivity: Sensitivity;
};

/** How a call ended. `text` is what the model was told. */
export type CallEnding = {
  readonly text: string;
  readonly outcome: ToolOutcome;
  /** How long it took. */
  readonly ms: number;
};

/** A call that an earlier run of the same message began; `ending` null: its end was not seen. */
export type EarlierCall = Pick<BegunCall, 'key' | 'tool' | 'arguments' | 'sensitivity'> & {
  readonly ending: CallEnding | null;
};

/**
 * Whether a call may run, had begun before (and nobody saw its end), is done already, or cannot be
 * written down and so may not run. `key` is the one that the earlier call ran under.
 */
export type LoggedCall =
  | { readonly kind: 'run' }
  | { readonly kind: 'unknown'; readonly key: string }
  | { readonly kind: 'done'; readonly key: string; readonly ending: CallEnding }
  | { readonly kind: 'unwritten' };

/** Grants and ends of tool calls as a person reads them. */
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
  not_listed: 'not a tool of this agent',
  ask_waits: 'the same call waits already',
  ask_too_many: 'too many calls wait',
  ask_unread: 'what waits could not be read',
  approved_by_approver: 'approved by an approver',
  approved_by_operator: 'approved by the operator',
};

/** The rule that decided: `governance[0]` → `grant 1`, and a cage's in plain words. */
export function describeRule(rule: string): string {
  const at = /^governance\[(\d+)\]$/.exec(rule)?.[1];
  if (at !== undefined) return `grant ${Number(at) + 1}`;
  return (Object.hasOwn(rules, rule) ? rules[rule] : undefined) ?? rule.replaceAll('_', ' ');
}

/** How the MCP servers of agents stand, and their tools: nothing of what a server says. */

export const mcpServerStates = ['starting', 'up', 'down', 'ended'] as const;
export type McpServerState = (typeof mcpServerStates)[number];

/**
 * `waiting`: its server is not up. `missing`: the server does not offer it, or its definition is
 * too large. `changed`: it is not what was pinned.
 */
export const mcpToolStates = ['announced', 'waiting', 'missing', 'not_pinned', 'changed'] as const;
export type McpToolState = (typeof mcpToolStates)[number];

export type McpStanding = {
  readonly brain: string;
  readonly server: string;
  readonly kind: 'command' | 'url';
  readonly state: McpServerState;
  /** Why it is down; null: it is not. */
  readonly reason: string | null;
  readonly tools: readonly { readonly tool: string; readonly state: McpToolState }[];
};
