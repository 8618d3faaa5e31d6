/** Faults in the approvers of an agent's calls. */
import { agent, spoil, type Case } from './cases.ts';

const inAgent = spoil(agent);
const ask = ['"shadow", "channels": ["telegram"]', '"ask", "channels": null'] as const;
const isPrivate = [
  '"sensitivity": "public"',
  '"sensitivity": "private"',
  '"groups": "off" } }',
  `"groups": "off" } }, { "type": "messenger_b", "mode": "gateway", "token_env": "D",
      "access": { "allow": ["9"], "groups": "off" } }`,
];
const approvers = (list: string): readonly string[] => [
  '"memory": { "scope": "brain" }',
  `"memory": { "scope": "brain" }, ${list}`,
];

export const approvalCases: readonly Case[] = [
  inAgent(
    'an approver by name',
    [...ask, ...approvers('"approvers": [«"telegram:@boss"]')],
    'bad_approver',
    'brains[0].agent.approvers[0]',
  ),
  inAgent(
    'an approver on a channel that nobody knows',
    [...ask, ...approvers('"approvers": ["telegram:123", «"pigeon:123"]')],
    'approver_unreached',
    'brains[0].agent.approvers[1]',
  ),
  inAgent(
    'an approver on what is no messenger',
    [...ask, ...approvers('"approvers": [«"webhook:ada"]')],
    'approver_unreached',
    'brains[0].agent.approvers[0]',
  ),
  inAgent(
    'an approver on a messenger that is not there',
    [...ask, ...approvers('"approvers": ["messenger_a:123", «"discord:123"]')],
    'approver_unreached',
    'brains[0].agent.approvers[1]',
  ),
  inAgent(
    'an approver whom the gate turns away',
    [...ask, ...approvers('"approvers": [«"telegram:124"]')],
    'approver_turned_away',
    'brains[0].agent.approvers[0]',
  ),
  inAgent(
    'approvers and nothing that asks',
    approvers('«"approvers": ["telegram:123"]'),
    'approvers_idle',
    'brains[0].agent.approvers',
  ),
  inAgent(
    'words of a private brain on the messenger of an approver',
    [...ask, ...approvers('"approvers": ["telegram:123", «"discord:9"]'), ...isPrivate],
    'approver_sees_private',
    'brains[0].agent.approvers[1]',
    'channel_without_route',
  ),
  inAgent(
    'a text for approvers that there is not',
    [...ask, ...approvers('"approval_text": «"none"')],
    'unknown_value',
    'brains[0].agent.approval_text',
  ),
  inAgent(
    'a wait of more than a month',
    [...ask, ...approvers('"approval_hours": «721')],
    'clamped',
    'brains[0].agent.approval_hours',
  ),
];
