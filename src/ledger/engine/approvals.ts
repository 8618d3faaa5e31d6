/** The approvals of a storage, as long as the ledger is open. */
import type { Approval } from '../../domain/approval.ts';
import type { ApprovalId } from '../../domain/ids.ts';
import type { Approvals, Decided } from '../ledger.ts';

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
