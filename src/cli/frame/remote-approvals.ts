/** The running service, asked about calls that wait for a person's yes, and told the word. */
import * as approvals from '../../admin/schemas/approvals.ts';
import type { AdminClient } from './admin-client.ts';
import { part } from './remote-path.ts';

/** A refusal is thrown (`Unanswered`). */
export class RemoteApprovals {
  readonly #service: AdminClient;

  constructor(service: AdminClient) {
    this.#service = service;
  }

  async decide(id: string, word: 'approve' | 'refuse'): Promise<void> {
    const path = `approvals/${part(id)}/${word}`;
    const given = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    this.#service.take(given, approvals.approvalDecidedSchema);
  }
}
