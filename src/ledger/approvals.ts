/**
 * Calls of tools that wait for a person's yes, kept in the ledger. They are written with the turn
 * that asked (`Effects.asked`) and end with the turn that follows (`Effects.settled`): each of
 * these is one commit. Of all who decide at the same time, on whatever instance, one succeeds.
 */
import type {
  Approval,
  ApprovalId,
  ApprovalRow,
  ApprovalState,
  ApprovalText,
  Verdict,
} from '../domain/approval.ts';
import type { Page, PageAsked } from '../domain/page.ts';

/** `at`: milliseconds since 1970. `by`: as in `Approval`. */
export type Decided = {
  readonly verdict: Verdict;
  readonly by: string | null;
  readonly at: number;
};

export interface Approvals {
  /** By its id or its code; null: there is none. Rejects when it cannot be read. */
  find(idOrCode: string): Promise<Approval | null>;
  /**
   * Decides one that waits. Resolves once it is written as safely as an accepted message.
   * `not_waiting`: somebody else was first, or it does not exist any more.
   */
  decide(id: ApprovalId, decided: Decided): Promise<'decided' | 'not_waiting' | 'storage_failed'>;
  /**
   * What somebody has to go on with, oldest first, at most 2,000, which is more than can be open:
   * those that wait, though their time is over by `now`, and those that are decided and not
   * settled. Rejects when it cannot be read.
   */
  owed(now: number): Promise<readonly Approval[]>;
  /** All that wait, oldest first, at most 1,000. Rejects when they cannot be read. */
  waiting(): Promise<readonly Approval[]>;
}

/** Part of the reader. What is settled is kept as long as other texts. */
export interface ApprovalsReader {
  /** Newest first. @param state null: whatever its state */
  approvals(state: ApprovalState | null, page: PageAsked): Promise<Page<ApprovalRow>>;
  /** With what was asked for; null: it is not kept. */
  approval(id: string): Promise<ApprovalText | null>;
}
