/** Grants and ends of tool calls as a person reads them. */
import type { GrantMode, ToolOutcome } from './tool-use.ts';

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
