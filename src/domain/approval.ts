/**
 * A call of a tool that waits for a person's yes.
 *
 *     waiting ──▶ approved | refused | expired ──the turn that follows──▶ settled
 *
 * The turn that asked is over; once it is decided, or its time is over, a turn of its own follows
 * in the same conversation: it runs the call (approved alone) and tells the model what came of it.
 */
import {
  channelTypeOf,
  type ApprovalId,
  type ChannelKey,
  type ConversationId,
  type MessageId,
} from './ids.ts';
import type { Address, Sender } from './message.ts';
import type { Sensitivity } from './sensitivity.ts';
import type { ToolOutcome } from './tool-use.ts';

export type { ApprovalId };

export const verdicts = ['approved', 'refused', 'expired'] as const;

export type Verdict = (typeof verdicts)[number];

export const approvalStates = ['waiting', ...verdicts] as const;

export type ApprovalState = (typeof approvalStates)[number];

export type Approval = {
  readonly id: ApprovalId;
  /**
   * What a person who may decide writes: 10 characters of Crockford's base32 in capitals, 50 random
   * bits.
   */
  readonly code: string;
  readonly state: ApprovalState;
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  /** Where the turn that follows sends its reply. */
  readonly address: Address;
  /** Who wrote the message whose turn asked. */
  readonly sender: Sender;
  /** The message whose turn asked. */
  readonly messageId: MessageId;
  readonly brain: string;
  readonly tool: string;
  /** Canonical JSON of the arguments: what runs is this and nothing else. */
  readonly arguments: string;
  /** Names tool and arguments, as in `BegunCall`. */
  readonly hash: string;
  /** That of the turn which asked. */
  readonly sensitivity: Sensitivity;
  /** Times are milliseconds since 1970. */
  readonly askedAt: number;
  readonly expiresAt: number;
  readonly decidedAt: number | null;
  /**
   * `operator`, or a messenger's type, `:` and an id on it, or `approver` where that person was
   * forgotten; null: not decided, or expired.
   */
  readonly decidedBy: string | null;
  /** When the turn that follows was over; null: not yet. */
  readonly settledAt: number | null;
  /** What became of the call in it; null: it did not run, or not yet. */
  readonly outcome: ToolOutcome | null;
};

/** One as the operator reads it, with what was asked for. */
export type ApprovalText = Omit<Approval, 'address' | 'code' | 'hash'> & {
  /** What approvers write; null: it does not wait any more. */
  readonly code: string | null;
};

/** One of a list: nothing that anybody wrote, and no code. */
export type ApprovalRow = Omit<
  Approval,
  'code' | 'conversation' | 'address' | 'sender' | 'arguments' | 'hash'
>;

/** A call that is to wait: `arguments` and `hash` as in `Approval`. */
export type WantedCall = Pick<Approval, 'tool' | 'arguments' | 'hash'>;

/** A person's yes to the call of that hash, by what they are. */
export type Yes = { readonly hash: string; readonly by: 'operator' | 'approver' };

/** A person as `agent.approvers` names them, and as what they decide is kept. */
export function personOn(channel: ChannelKey, id: string): string {
  return `${channelTypeOf(channel)}:${id}`;
}

/** What is kept in the place of a person who decided and was forgotten. */
export const forgottenPerson: Yes['by'] = 'approver';

/** What who decided is, without saying who; null: nobody did. */
export function roleOf(decidedBy: Approval['decidedBy']): Yes['by'] | null {
  if (decidedBy === null) return null;
  return decidedBy === 'operator' ? 'operator' : 'approver';
}

/**
 * `waits`: the very same call of this conversation waits already. `too_many` wait, of this turn or
 * of all. `unread`: what waits could not be read, so nothing was asked.
 */
export type AskAnswer = 'asked' | 'waits' | 'too_many' | 'unread';

/** The code that somebody means: https://www.crockford.com/base32.html. */
export function approvalCodeOf(written: string): string {
  return written.toUpperCase().replaceAll('-', '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}

export function approvalRowOf(approval: Approval): ApprovalRow {
  const { id, state, channel, messageId, brain, tool, sensitivity } = approval;
  const { askedAt, expiresAt, decidedAt, decidedBy, settledAt, outcome } = approval;
  const times = { askedAt, expiresAt, decidedAt, decidedBy, settledAt };
  return { id, state, channel, messageId, brain, tool, sensitivity, ...times, outcome };
}

export function approvalTextOf(approval: Approval): ApprovalText {
  const { address: _address, hash: _hash, ...text } = approval;
  return { ...text, code: approval.state === 'waiting' ? approval.code : null };
}

/** The turn that follows has not been yet, and somebody has to see to it. */
export function isOwed({ state, expiresAt, settledAt }: Approval, now: number): boolean {
  return settledAt === null && (state !== 'waiting' || expiresAt <= now);
}
