/** Checks the approvers of an agent. */
import { findKind, kindOf } from '../channels/registry.ts';
import { parseApprover } from './config.ts';
import { badApprover } from './formats.ts';
import { nearest } from './nearest.ts';
import type { ProblemList } from './problems.ts';
import { nameOfChannel } from './rules-channels.ts';
import type { BrainDraft, DraftDocument } from './schema.ts';

type AgentDraft = NonNullable<BrainDraft['agent']>;
type ChannelsDraft = DraftDocument['channels'];

/**
 * Adds the problems of an agent's approvers: svc cannot reach them, or shows them too much.
 * @param path the path of the agent
 */
export function checkApprovers(
  agent: AgentDraft,
  brain: Pick<BrainDraft, 'name' | 'sensitivity'>,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  const { channels } = document;
  const approvers = agent.approvers ?? [];
  const asks = agent.governance?.some((grant) => grant === undefined || grant.mode === 'ask');
  if (approvers.length > 0 && agent.governance !== undefined && asks !== true) {
    const message = 'nobody is asked for a yes: no grant has the mode ask';
    const remedy = 'Write "mode": "ask" in a grant, or take approvers out.';
    problems.addAtKey('approvers_idle', `${path}.approvers`, message, remedy);
  }
  if (brain.sensitivity === 'private' && agent.approval_text === 'full' && asks === true) {
    const index = approvers.findIndex((text) => learnsMore(text, brain, document));
    if (index >= 0) {
      const message = 'the platform of this approver sees the arguments of a private brain’s calls';
      const remedy = 'Write "approval_text": "notice" in the agent to send no arguments there.';
      problems.add('approver_sees_private', `${path}.approvers[${index}]`, message, remedy);
    }
  }
  for (const [index, text] of approvers.entries()) {
    if (text !== undefined) checkApprover(text, `${path}.approvers[${index}]`, channels, problems);
  }
}

/** Whether the brain is reached over another platform than that of the approver's messenger. */
function learnsMore(
  text: string | undefined,
  { name }: Pick<BrainDraft, 'name'>,
  { channels, routes }: DraftDocument,
): boolean {
  const typeOf = (channel: string | undefined): string | undefined =>
    channels?.find((one) => channel !== undefined && nameOfChannel(one) === channel)?.type;
  const type = text === undefined ? undefined : typeOf(parseApprover(text)?.channel);
  if (type === undefined || findKind(type)?.isMessenger !== true) return false;
  return routes?.some((one) => one?.brain === name && typeOf(one?.channel) !== type) === true;
}

function checkApprover(
  text: string,
  path: string,
  channels: ChannelsDraft,
  problems: ProblemList,
): void {
  const approver = parseApprover(text);
  if (approver === null) return;
  const { channel: name, user } = approver;
  const written = text.slice(0, text.indexOf(':'));
  const channel = channels?.find((one) => nameOfChannel(one) === name);
  const kind = channel?.type === undefined ? findKind(name) : kindOf(channel.type);
  if (kind !== undefined && !kind.isMessenger) {
    const message = `nobody can be asked on ${written}, which is no messenger`;
    const remedy = 'Name a person of a messenger, or leave the yes to the operator.';
    return problems.add('approver_unreached', path, message, remedy);
  }
  if (channels === undefined) return;
  if (channel === undefined) {
    const names = channels.map(nameOfChannel);
    if (names.includes(undefined)) return;
    const near = nearest(name, names as readonly string[]);
    const message = `${written} is not configured, so nobody is asked there`;
    const remedy = 'Configure it, or take this approver out.';
    const guess = near === null ? '' : `Did you mean ${near}? `;
    return problems.add('approver_unreached', path, message, `${guess}${remedy}`);
  }
  if (!/^\d{1,32}$/.test(user)) {
    const { code, message, remedy } = badApprover;
    return problems.add(code, path, message, remedy);
  }
  const { allow, pairing } = channel.access ?? { allow: null, pairing: false };
  if (allow == null || pairing !== false || allow.includes(user)) return;
  const message = `the access of ${written} does not let this person in`;
  const remedy = `Add "${user}" to access.allow of that channel.`;
  problems.add('approver_turned_away', path, message, remedy);
}
