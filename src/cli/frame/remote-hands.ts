/** The running service, asked to take a conversation over, to answer in it, and to give it back. */
import * as hold from '../../admin/schemas/takeover.ts';
import type { Described } from '../../admin/schemas/schema.ts';
import type { AdminClient } from './admin-client.ts';
import { part } from './remote-path.ts';

export type Waiting = Described<typeof hold.waitingSchema>['rows'][number];

/** `message` null: the oldest that waits. */
type Written = { readonly text: string; readonly message: string | null };

/** Conversations are named by svc's own ids; a refusal is thrown (`Unanswered`). */
export class RemoteTakeovers {
  readonly #service: AdminClient;

  constructor(service: AdminClient) {
    this.#service = service;
  }

  async hold(id: string) {
    return this.#service.take(await this.#post(`${pathOf(id)}/hold`), hold.heldSchema);
  }

  async waiting(id: string): Promise<readonly Waiting[]> {
    const path = `holds/${part(id)}/waiting`;
    return (await this.#service.read('operator', path, hold.waitingSchema)).rows;
  }

  async answer(id: string, written: Written) {
    return this.#service.take(
      await this.#post(`${pathOf(id)}/answer`, written),
      hold.answeredSchema,
    );
  }

  async release(id: string) {
    return this.#service.take(await this.#post(`${pathOf(id)}/release`), hold.releasedSchema);
  }

  #post(path: string, body: Written | null = null) {
    return this.#service.ask({ method: 'POST', path, principal: 'operator', body });
  }
}

const pathOf = (id: string): string => `conversations/${part(id)}`;
