/** Grants and ends of tool calls as a person reads them. */
import type { GrantMode, ToolOutcome } from './tool-use.ts';

export const modeWords: Readonly<Record<GrantMode, string>> = {
  allow: 'allowed',
  shadow: 'in shadow',
  deny: 'not granted',
};

export const outcomeWords: Readonly<Record<ToolOutcome, string>> = {
  done: 'done',
  failed: 'failed',
  rehearsed: 'rehearsed: it did not run',
  denied: 'denied: no grant',
  refused: 'refused by the cage',
  invalid: 'wrong arguments',
  unknown: 'not known: svc ended under it',
};
