/** The stored form of an approval. */
import { approvalCodeOf, approvalStates, type Approval } from '../../domain/approval.ts';
import {
  type ApprovalId,
  type ChannelKey,
  type ConversationId,
  type MessageId,
} from '../../domain/ids.ts';
import { toolOutcomes } from '../../domain/tool-use.ts';

/** `sender`: an id. `body`: JSON. Times are milliseconds since 1970. */
export type ApprovalRecord = {
  readonly id: string;
  readonly code: string;
  readonly state: string;
  readonly channel: string;
  readonly conversation: string;
  readonly sender: string;
  readonly messageId: string;
  readonly brain: string;
  readonly tool: string;
  readonly private: boolean;
  readonly askedAt: number;
  readonly expiresAt: number;
  readonly decidedAt: number | null;
  readonly decidedBy: string | null;
  readonly settledAt: number | null;
  readonly outcome: string | null;
  readonly body: string;
};

/** The largest answers of `owed` and `waiting`, as the contract says. */
export const approvalsOwedMax = 2_000;
export const approvalsWaitingMax = 1_000;

/** A waiting approval: the other fields come later. */
export type AskedRecord = Omit<
  ApprovalRecord,
  'state' | 'decidedAt' | 'decidedBy' | 'settledAt' | 'outcome'
>;

type Body = Pick<Approval, 'address' | 'arguments' | 'hash'> & { readonly name: string | null };

export function recordOfAsked(approval: Approval): AskedRecord {
  const { id, channel, conversation, sender, messageId, brain, tool } = approval;
  const { address, arguments: given, hash, askedAt, expiresAt } = approval;
  const body: Body = { name: sender.name, address, arguments: given, hash };
  return {
    id,
    code: approvalCodeOf(approval.code),
    channel,
    conversation,
    sender: sender.id,
    messageId,
    brain,
    tool,
    private: approval.sensitivity === 'private',
    askedAt,
    expiresAt,
    body: JSON.stringify(body),
  };
}

/**
 * Reads a record. An unknown state counts as expired, never as a yes.
 * @throws when the body is damaged
 */
export function approvalFrom(record: ApprovalRecord): Approval {
  const { code, brain, tool, askedAt, expiresAt, decidedAt, decidedBy, settledAt } = record;
  const { name, address, arguments: given, hash } = JSON.parse(record.body) as Body;
  return {
    id: record.id as ApprovalId,
    code,
    state: approvalStates.find((known) => known === record.state) ?? 'expired',
    channel: record.channel as ChannelKey,
    conversation: record.conversation as ConversationId,
    address,
    sender: { id: record.sender, name },
    messageId: record.messageId as MessageId,
    brain,
    tool,
    arguments: given,
    hash,
    sensitivity: record.private ? 'private' : 'public',
    askedAt,
    expiresAt,
    decidedAt,
    decidedBy,
    settledAt,
    outcome: toolOutcomes.find((known) => known === record.outcome) ?? null,
  };
}
