/** The approvals of the memory backend: a bounded number of open and of settled ones. */
import {
  approvalCodeOf,
  approvalRowOf,
  approvalTextOf,
  isOwed,
  forgottenPerson,
  personOn,
  type Approval,
} from '../../domain/approval.ts';
import { type ApprovalId } from '../../domain/ids.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { Approvals, ApprovalsReader, Decided, Effects } from '../ledger.ts';
import { approvalsOwedMax, approvalsWaitingMax } from '../engine/approvals.ts';
import { isOf } from '../engine/queue.ts';
import { emptyPage, keyAfter, limitOf, pageOf } from '../pages.ts';

/** The most open approvals, decided ones included. */
const openMax = 2 * approvalsWaitingMax;
const settledMax = 1_000;
/** The key before every row: it sorts behind every digit of an id. */
const newest: [string] = ['~'];

export class KeptApprovals implements Approvals {
  /**
   * Open approvals in the order in which they were asked. Settled ones are in the order of their
   * ends.
   */
  readonly #open = new Map<string, Approval>();
  readonly #settled = new Map<string, Approval>();

  /** @param at when the turn ended */
  turnEnded({ asked = [], settled }: Effects, at: number): void {
    for (const approval of asked) this.#ask(approval, at);
    const approval = settled === undefined ? undefined : this.#open.get(settled.id);
    if (settled === undefined || approval === undefined || approval.state === 'waiting') return;
    this.#open.delete(settled.id);
    this.#settled.set(settled.id, { ...approval, settledAt: at, outcome: settled.outcome });
    keepNewest(this.#settled, settledMax);
  }

  async find(idOrCode: string): Promise<Approval | null> {
    const code = approvalCodeOf(idOrCode);
    return this.#newestFirst().find((one) => one.id === idOrCode || one.code === code) ?? null;
  }

  async decide(id: ApprovalId, { verdict, by, at }: Decided): Promise<'decided' | 'not_waiting'> {
    const approval = this.#open.get(id);
    if (approval?.state !== 'waiting') return 'not_waiting';
    this.#open.set(id, { ...approval, state: verdict, decidedBy: by, decidedAt: at });
    return 'decided';
  }

  async owed(now: number): Promise<readonly Approval[]> {
    const owed = this.#open.values().filter((one) => isOwed(one, now));
    return owed.take(approvalsOwedMax).toArray();
  }

  async waiting(): Promise<readonly Approval[]> {
    return this.#waiting();
  }

  readonly reads: ApprovalsReader = {
    approvals: async (state, page) => {
      const limit = limitOf(page);
      const after = keyAfter(page, newest);
      if (after === null) return emptyPage;
      const rows = this.#newestFirst().filter(
        (one) => one.id < after[0] && (state === null || one.state === state),
      );
      return pageOf(rows, limit, ({ id }) => [id], approvalRowOf);
    },
    approval: async (id) => {
      const found = this.#open.get(id) ?? this.#settled.get(id);
      return found === undefined ? null : approvalTextOf(found);
    },
  };

  /** @param beforeId approvals that messages with this id or a higher one asked for stay */
  remove(whose: MessageOwner, beforeId: string): void {
    const person = whose.kind === 'sender' ? personOn(whose.channel, whose.sender) : null;
    for (const kept of [this.#open, this.#settled]) {
      for (const [id, approval] of kept) {
        const isDecider = person !== null && approval.decidedBy === person;
        if (isDecider) kept.set(id, { ...approval, decidedBy: forgottenPerson });
        const isTheirs = isOf(whose, approval, approval.sender.id);
        if (isTheirs && approval.messageId < beforeId) kept.delete(id);
      }
    }
  }

  /** Adds an approval. If too many wait, the oldest expires, so that no call is left hanging. */
  #ask(approval: Approval, at: number): void {
    const code = approvalCodeOf(approval.code);
    this.#open.set(approval.id, { ...approval, code, state: 'waiting' });
    const waiting = this.#waiting();
    const oldest = waiting.length > approvalsWaitingMax ? waiting[0] : undefined;
    if (oldest !== undefined) {
      this.#open.set(oldest.id, { ...oldest, state: 'expired', decidedAt: at });
    }
    keepNewest(this.#open, openMax);
  }

  #waiting(): Approval[] {
    return this.#open
      .values()
      .filter(({ state }) => state === 'waiting')
      .toArray();
  }

  #newestFirst(): Approval[] {
    const all = [...this.#settled.values(), ...this.#open.values()];
    return all.sort((a, b) => (a.id < b.id ? 1 : -1));
  }
}

function keepNewest(kept: Map<string, Approval>, most: number): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
