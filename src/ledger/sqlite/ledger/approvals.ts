import type { DatabaseSync } from 'node:sqlite';
import type { Approval, ApprovalId } from '../../../domain/approval.ts';
import type { Approvals, Decided } from '../../approvals.ts';
import { findApproval, findByIdOrCode, listOwed, listWaiting } from '../read/approvals.ts';
import type { GroupCommit } from '../write/group-commit.ts';

/** Nobody else writes this database: who is the first to decide is known here. */
export class StoredApprovals implements Approvals {
  readonly #reader: DatabaseSync;
  readonly #groupCommit: GroupCommit;
  /** By what is being written just now. */
  readonly #deciding = new Map<ApprovalId, Promise<unknown>>();

  /** @param reader a connection that only reads */
  constructor(reader: DatabaseSync, groupCommit: GroupCommit) {
    this.#reader = reader;
    this.#groupCommit = groupCommit;
  }

  async find(idOrCode: string): Promise<Approval | null> {
    return findByIdOrCode(this.#reader, idOrCode);
  }

  async decide(id: ApprovalId, decided: Decided) {
    while (this.#deciding.has(id)) await this.#deciding.get(id);
    const deciding = this.#decide(id, decided);
    this.#deciding.set(id, deciding);
    try {
      return await deciding;
    } finally {
      this.#deciding.delete(id);
    }
  }

  async owed(now: number): Promise<readonly Approval[]> {
    return listOwed(this.#reader, now);
  }

  async waiting(): Promise<readonly Approval[]> {
    return listWaiting(this.#reader);
  }

  async #decide(id: ApprovalId, { verdict, by, at }: Decided) {
    try {
      if (findApproval(this.#reader, id)?.state !== 'waiting') return 'not_waiting';
      this.#groupCommit.add(['approvalDecided', verdict, by, at, id]);
      if (!(await this.#groupCommit.writtenNow())) return 'storage_failed';
      // It may have been forgotten meanwhile.
      return findApproval(this.#reader, id) === null ? 'not_waiting' : 'decided';
    } catch {
      return 'storage_failed';
    }
  }
}
