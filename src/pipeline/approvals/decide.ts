/**
 * The one way in which a call that waits is decided, by whomever: first the verdict is written,
 * then svc's own message is accepted, which is the turn that follows. What is decided and has no
 * message yet, since the process ended between the two, gets it from app/approval-upkeep.ts.
 */
import { roleOf, type Approval, type ApprovalState, type Verdict } from '../../domain/approval.ts';
import type { ConversationId } from '../../domain/ids.ts';
import type { Address, Inbound, Sender } from '../../domain/message.ts';
import { isShownWhole } from './sentences.ts';
import type { Deps } from '../deps.ts';

/** Who decides: the operator always may, a person only what is put to them now. */
export type Decider = 'operator' | Person;

/** `name` as the ledger keeps it: the channel's type, `:` and their id on it. */
export type Person = {
  readonly name: string;
  isApproverOf(brain: string): boolean;
};

export type DecideResult =
  | { readonly kind: 'decided'; readonly approval: Approval }
  | { readonly kind: 'not_waiting'; readonly state: ApprovalState }
  /** `too_long`: the question did not show all of it, so that it is the operator's to approve. */
  | { readonly kind: 'too_long'; readonly tool: string }
  | { readonly kind: 'not_found' | 'not_allowed' | 'storage_failed' };

export type DecidingDeps = Pick<Deps, 'ledger' | 'events' | 'now' | 'approvals'>;

/** @param idOrCode a person has the code alone, the operator the id */
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
    const end = await settleAs(deps, found, isLate ? 'expired' : verdict, isLate ? null : name);
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
  await settleAs(deps, approval, 'expired', null);
}

async function settleAs(
  deps: DecidingDeps,
  approval: Approval,
  verdict: Verdict,
  by: string | null,
): Promise<'decided' | 'not_waiting' | 'storage_failed'> {
  const { id, channel, brain, tool } = approval;
  const end = await deps.ledger.approvals.decide(id, { verdict, by, at: deps.now() });
  if (end !== 'decided') return end;
  deps.events.approvalDecided({ channel, id, brain, tool, verdict, by: roleOf(by) });
  // Where it is not accepted now, the keeper has it accepted later.
  await acceptFollowing(deps, approval);
  deps.approvals.wake();
  return end;
}

/**
 * The message whose turn goes on with a decided approval; accepted again it is the same one.
 * @returns false: the ledger takes nothing now
 */
export function acceptFollowing(deps: DecidingDeps, approval: Approval): Promise<boolean> {
  const { id, conversation, address, sender } = approval;
  return acceptOwn(deps, approval, { conversation, address, sender }, `approval:${id}`);
}

/** The message that puts the question to a person in a chat of theirs. */
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
  to: { conversation: ConversationId; address: Address; sender: Sender },
  dedupeKey: string,
): Promise<boolean> {
  const { channel } = to.address;
  const own: Inbound = { channel, ...to, text: '', media: null, dedupeKey, approval, sensitivity };
  const acceptance = await ledger.accept([own]);
  if (acceptance.kind !== 'accepted') return false;
  const { id, duplicate } = acceptance.receipts[0]!;
  if (!duplicate) events.messageAccepted({ channel, id, duplicate });
  return true;
}
