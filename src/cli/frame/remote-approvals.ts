/** The running service, asked about calls that wait for a person's yes, and told the word. */
import * as approvals from '../../admin/schemas/approvals.ts';
import { statusSchema } from '../../admin/schemas/status.ts';
import type { ApprovalText } from '../../domain/approval.ts';
import type { AdminClient } from './admin-client.ts';
import { part } from './remote-path.ts';

/** A refusal is thrown (`Unanswered`). */
export class RemoteApprovals {
  readonly #service: AdminClient;

  constructor(service: AdminClient) {
    this.#service = service;
  }

  list(query: string) {
    return this.#service.read('reader', `approvals?${query}`, approvals.approvalsSchema);
  }

  show(id: string): Promise<ApprovalText | null> {
    return this.#service.find('operator', `approvals/${part(id)}`, approvals.approvalTextSchema);
  }

  async waiting(): Promise<number> {
    const status = await this.#service.read('reader', 'status', statusSchema);
    return status.approvals?.waiting ?? 0;
  }

  async decide(id: string, word: 'approve' | 'refuse') {
    const path = `approvals/${part(id)}/${word}`;
    const given = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    return this.#service.take(given, approvals.approvalDecidedSchema);
  }
}
