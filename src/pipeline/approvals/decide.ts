/**
 * The one way to decide a call that waits for approval. First the verdict is written. Then svc's
 * own message is accepted, and its turn continues with the call. If the process ends between the
 * two, app/approval-upkeep.ts accepts the message later.
 */
import {
  roleOf,
  personOn,
  type Approval,
  type ApprovalState,
  type Verdict,
} from '../../domain/approval.ts';
import { type ApprovalId, type ConversationId, type ChannelKey } from '../../domain/ids.ts';
import type { Address, Inbound, Message } from '../../domain/message.ts';
import { isShownWhole, decisionSentences } from './sentences.ts';
import type { Deps, ActiveRoute } from '../deps.ts';
import type { ConversationKey } from '../../domain/story.ts';
import type { ToolOutcome } from '../../domain/tool-use.ts';
import type { Effects, Ledger } from '../../ledger/ledger.ts';
import { openApprovals, approversOf } from './request.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { Brain } from '../../brains/brain.ts';
import type { Intent } from '../sessions.ts';

/** Who decides: the operator always may, a person only calls that they may approve now. */
export type Decider = 'operator' | Person;

/** `name` as the ledger stores it: the channel's name, `:` and the person's id on it. */
export type Person = {
  readonly name: string;
  isApproverOf(brain: string): boolean;
};

export type DecideResult =
  | { readonly kind: 'decided'; readonly approval: Approval }
  | { readonly kind: 'not_waiting'; readonly state: ApprovalState }
  /** `too_long`: the question did not show the whole call, so only the operator may approve it. */
  | { readonly kind: 'too_long'; readonly tool: string }
  | { readonly kind: 'not_found' | 'not_allowed' | 'storage_failed' };

export type DecidingDeps = Pick<Deps, 'ledger' | 'events' | 'now' | 'approvals'>;

/** @param idOrCode a person has only the code, the operator the id */
export async function decideApproval(
  deps: DecidingDeps,
  idOrCode: string,
  verdict: Exclude<Verdict, 'expired'>,
  by: Decider,
): Promise<DecideResult> {
  const { approvals } = deps.ledger;
  try {
    const found = await approvals.find(idOrCode);
    if (found === null) return { kind: 'not_found' };
    if ((found.id === idOrCode) !== (by === 'operator')) return { kind: 'not_found' };
    if (by !== 'operator' && !by.isApproverOf(found.brain)) return { kind: 'not_allowed' };
    if (found.state !== 'waiting') return { kind: 'not_waiting', state: found.state };
    if (by !== 'operator' && verdict === 'approved' && !isShownWhole(found)) {
      return { kind: 'too_long', tool: found.tool };
    }
    const isLate = found.expiresAt <= deps.now();
    const name = by === 'operator' ? by : by.name;
    const end = await writeVerdict(deps, found, isLate ? 'expired' : verdict, isLate ? null : name);
    if (end === 'storage_failed') return { kind: 'storage_failed' };
    const approval = (await approvals.find(found.id)) ?? found;
    if (end === 'decided' && !isLate) return { kind: 'decided', approval };
    return { kind: 'not_waiting', state: approval.state };
  } catch {
    return { kind: 'storage_failed' };
  }
}

/** Nobody decided in time. Rejects when nothing can be written. */
export async function expire(deps: DecidingDeps, approval: Approval): Promise<void> {
  await writeVerdict(deps, approval, 'expired', null);
}

async function writeVerdict(
  deps: DecidingDeps,
  approval: Approval,
  verdict: Verdict,
  by: string | null,
): Promise<'decided' | 'not_waiting' | 'storage_failed'> {
  const { id, channel, brain, tool, askedAt } = approval;
  const at = deps.now();
  const end = await deps.ledger.approvals.decide(id, { verdict, by, at });
  if (end !== 'decided') return end;
  const waitedMs = Math.max(0, at - askedAt);
  deps.events.approvalDecided({ channel, id, brain, tool, verdict, by: roleOf(by), waitedMs });
  // If the ledger does not accept it now, the janitor has it accepted later.
  await acceptFollowing(deps, approval);
  deps.approvals.wake();
  return end;
}

/**
 * Accepts the message whose turn continues with a decided approval. A second call accepts no second
 * message.
 * @returns false: the ledger takes nothing now
 */
export function acceptFollowing(deps: DecidingDeps, approval: Approval): Promise<boolean> {
  const { id, conversation, address, sender } = approval;
  // The turn continues with the brain that asked, whatever the routes are now.
  const route = { number: 0, brain: approval.brain, matched: [] };
  return acceptOwn(deps, approval, { conversation, address, sender, route }, `approval:${id}`);
}

/** Accepts the message that puts the question to a person in a chat of theirs. */
export function acceptQuestion(
  deps: DecidingDeps,
  approval: Approval,
  where: { readonly conversation: ConversationId; readonly address: Address },
  person: { readonly name: string; readonly user: string },
): Promise<boolean> {
  const sender = { id: person.user, name: null };
  return acceptOwn(deps, approval, { ...where, sender }, `question:${approval.id}:${person.name}`);
}

async function acceptOwn(
  { ledger, events }: DecidingDeps,
  { id: approval, sensitivity }: Approval,
  to: Pick<Inbound, 'conversation' | 'address' | 'sender' | 'route'>,
  dedupeKey: string,
): Promise<boolean> {
  const { channel } = to.address;
  const message: Inbound = {
    channel,
    ...to,
    text: '',
    media: null,
    dedupeKey,
    approval,
    sensitivity,
  };
  const acceptance = await ledger.accept([message]);
  if (acceptance.kind !== 'accepted') return false;
  const { id, duplicate } = acceptance.receipts[0]!;
  if (!duplicate) events.messageAccepted({ channel, id, duplicate });
  return true;
}

// How an approval ends: with the message whose turn follows, whatever happens to that message.

/** Whether the turn of that message follows the approval; otherwise it is a question elsewhere. */
export function isAskedIn(
  { channel, conversation }: Approval,
  message: Pick<Message, 'channel' | 'conversation'>,
): boolean {
  return message.channel === channel && message.conversation === conversation;
}

/** The outcome of the call, as the turn's audit has it; null: the call did not run. */
export function outcomeOf({
  followed,
  toolUses,
}: Pick<PipelineTurnContext, 'followed' | 'toolUses'>): ToolOutcome | null {
  if (followed?.approval.state !== 'approved') return null;
  return toolUses?.[0]?.outcome ?? null;
}

/**
 * The approval that ends with this dead-lettered message; undefined: none, or it cannot be read. If
 * the call was approved, nobody knows whether it began.
 */
export async function settlementOf(
  { approvals }: Pick<Ledger, 'approvals'>,
  message: Message,
): Promise<Effects['settled']> {
  if (message.approval === undefined) return undefined;
  const approval = await approvals.find(message.approval).catch(() => null);
  if (approval === null || !isAskedIn(approval, message)) return undefined;
  return { id: approval.id, outcome: approval.state === 'approved' ? 'unknown' : null };
}

/**
 * The open approvals that may end with a message of that conversation, which an operator answers.
 */
export async function openApprovalsIn(
  ledger: Pick<Ledger, 'approvals'>,
  where: ConversationKey,
  now: number,
): Promise<ReadonlySet<ApprovalId>> {
  const open = (await openApprovals(ledger, now)) ?? [];
  return new Set(open.filter((one) => isAskedIn(one, where)).map(({ id }) => id));
}

/** `/approve` and `/refuse`: the author's rights are looked up now, in the configuration in use. */
type Brains = ReadonlyMap<string, Pick<Brain, 'agent'>>;
type Verb = 'approve' | 'refuse';

/** The message's author, as `agent.approvers` names people. */
function personOf({ channel, sender }: Pick<Message, 'channel' | 'sender'>): string {
  return personOn(channel, sender.id);
}

/** Whether the author may decide for any brain. It costs nothing where no brain has approvers. */
export function isApprover(brains: Brains, message: Pick<Message, 'channel' | 'sender'>): boolean {
  let person: string | null = null;
  for (const { agent } of brains.values()) {
    const approvers = agent?.asking?.approvers;
    if (approvers === undefined || approvers.length === 0) continue;
    person ??= personOf(message);
    if (approvers.includes(person)) return true;
  }
  return false;
}

/** Whether somebody on that channel may decide for any brain. */
export function hasApprover(brains: Brains, channel: ChannelKey): boolean {
  return [...brains.values()].some(({ agent }) => approversOf(agent, channel).here);
}

/** @returns the sentence for the person */
export async function decide(
  deps: Deps,
  { brains }: ActiveRoute,
  message: Message,
  { kind: verb, code }: Extract<Intent, { kind: Verb }>,
): Promise<string> {
  if (code === '') return decisionSentences.usage(verb);
  const person = personOf(message);
  if (deps.approvals.isShutOut(person)) return decisionSentences.nothingForYou;
  const isApproverOf = (brain: string): boolean => isApproverFor(brains.get(brain), person);
  const verdict = verb === 'approve' ? 'approved' : 'refused';
  const result = await decideApproval(deps, code, verdict, { name: person, isApproverOf });
  if (result.kind === 'not_found' || result.kind === 'not_allowed')
    deps.approvals.wrongCode(person);
  return sentenceOf(result);
}

function sentenceOf(result: DecideResult): string {
  switch (result.kind) {
    case 'decided': {
      const { state, tool } = result.approval;
      return state === 'refused'
        ? decisionSentences.refused(tool)
        : decisionSentences.approved(tool);
    }
    case 'not_waiting':
      return decisionSentences.over(result.state);
    case 'too_long':
      return decisionSentences.tooLong(result.tool);
    case 'not_found':
    case 'not_allowed':
      return decisionSentences.nothingForYou;
    case 'storage_failed':
      return decisionSentences.failed;
    default:
      return result satisfies never;
  }
}

function isApproverFor(brain: Pick<Brain, 'agent'> | undefined, name: string): boolean {
  return brain?.agent?.asking?.approvers.includes(name) === true;
}
