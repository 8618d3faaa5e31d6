/** The approvals of a storage, as long as the ledger is open. */
import { approvalCodeOf, approvalStates, type Approval } from '../../domain/approval.ts';
import type { ApprovalId, ChannelKey, ConversationId, MessageId } from '../../domain/ids.ts';
import type { Approvals, Decided } from '../ledger.ts';
import { toolOutcomes } from '../../domain/tool-use.ts';

export class OpenApprovals implements Approvals {
  readonly #stored: Approvals;
  readonly #isClosed: () => boolean;

  constructor(stored: Approvals, isClosed: () => boolean) {
    this.#stored = stored;
    this.#isClosed = isClosed;
  }

  async find(idOrCode: string): Promise<Approval | null> {
    return this.#open().find(idOrCode);
  }

  async decide(id: ApprovalId, decided: Decided) {
    return this.#isClosed() ? 'storage_failed' : this.#stored.decide(id, decided);
  }

  async owed(now: number): Promise<readonly Approval[]> {
    return this.#open().owed(now);
  }

  async waiting(): Promise<readonly Approval[]> {
    return this.#open().waiting();
  }

  #open(): Approvals {
    if (this.#isClosed()) throw new Error('the ledger is closed');
    return this.#stored;
  }
}

// The stored form of an approval.

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
