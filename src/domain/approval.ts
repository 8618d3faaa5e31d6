/**
 * An approval: a tool call that waits until a person allows it.
 *
 *     waiting ──▶ approved | refused | expired ──follow-up turn──▶ settled
 *
 * The turn that asked for the call has ended. When a person decides, or the time is over, a
 * follow-up turn runs in the same conversation. It runs the call (only if it was approved) and
 * gives the result to the model.
 */
import {
  registeredNameOf,
  type ApprovalId,
  type ChannelKey,
  type ConversationId,
  type MessageId,
} from './ids.ts';
import type { Address, Sender } from './message.ts';
import type { Sensitivity } from './sensitivity.ts';
import type { ToolOutcome } from './tool-use.ts';

export const verdicts = ['approved', 'refused', 'expired'] as const;

export type Verdict = (typeof verdicts)[number];

export const approvalStates = ['waiting', ...verdicts] as const;

export type ApprovalState = (typeof approvalStates)[number];

export type Approval = {
  readonly id: ApprovalId;
  /**
   * The code that an approver writes: 10 characters of Crockford's base32 in capitals, 50 random
   * bits.
   */
  readonly code: string;
  readonly state: ApprovalState;
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  /** The follow-up turn sends its reply here. */
  readonly address: Address;
  /** The person who wrote the message whose turn asked. */
  readonly sender: Sender;
  /** The message whose turn asked. */
  readonly messageId: MessageId;
  readonly brain: string;
  readonly tool: string;
  /** Canonical JSON of the arguments. The follow-up turn runs the call with exactly these. */
  readonly arguments: string;
  /** The hash of tool and arguments, as in `BegunCall`. */
  readonly hash: string;
  /** The label of the turn that asked. */
  readonly sensitivity: Sensitivity;
  /** Times are milliseconds since 1970. */
  readonly askedAt: number;
  readonly expiresAt: number;
  readonly decidedAt: number | null;
  /**
   * `operator`, or `TYPE:ID` of a person on a messenger, or `approver` if that person was
   * forgotten. Null: not decided, or expired.
   */
  readonly decidedBy: string | null;
  /** The time when the follow-up turn ended; null: not yet. */
  readonly settledAt: number | null;
  /** The result of the call in the follow-up turn; null: it did not run, or not yet. */
  readonly outcome: ToolOutcome | null;
};

/** An approval with its conversation and arguments, as an operator reads it. */
export type ApprovalText = Omit<Approval, 'address' | 'code' | 'hash'> & {
  /** Null: the call no longer waits. */
  readonly code: string | null;
};

/** An approval in a list: no text that a person or a model wrote, and no code. */
export type ApprovalRow = Omit<
  Approval,
  'code' | 'conversation' | 'address' | 'sender' | 'arguments' | 'hash'
>;

/** A call that needs an approval; `arguments` and `hash` as in `Approval`. */
export type WantedCall = Pick<Approval, 'tool' | 'arguments' | 'hash'>;

/** A person's approval of the call with this hash, with the role of the person. */
export type GivenApproval = { readonly hash: string; readonly by: 'operator' | 'approver' };

/** The text form of a person, in `agent.approvers` and in `Approval.decidedBy`. */
export function personOn(channel: ChannelKey, id: string): string {
  return `${registeredNameOf(channel)}:${id}`;
}

/** Takes the place of the id of a decider who was forgotten. */
export const forgottenPerson: GivenApproval['by'] = 'approver';

/** The role of the person who decided; null: nobody decided. */
export function roleOf(decidedBy: Approval['decidedBy']): GivenApproval['by'] | null {
  if (decidedBy === null) return null;
  return decidedBy === 'operator' ? 'operator' : 'approver';
}

/**
 * The result of asking for an approval.
 * - `waits`: the same call of this conversation waits already.
 * - `too_many`: too many calls of this turn, or of the whole service, wait.
 * - `unread`: the ledger could not read the waiting calls, so svc asked nobody.
 */
export type AskAnswer = 'asked' | 'waits' | 'too_many' | 'unread';

/** Normalises a code that a person wrote: https://www.crockford.com/base32.html. */
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

/** Whether the approval is decided or expired, and its follow-up turn has not run yet. */
export function isOwed({ state, expiresAt, settledAt }: Approval, now: number): boolean {
  return settledAt === null && (state !== 'waiting' || expiresAt <= now);
}
