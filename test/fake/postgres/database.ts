/** A database with svc's tables, and connections to it that never fail. */
import type { Client } from 'pg';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { migratedDatabase } from '../postgres.ts';

export type OpenedDatabase = {
  readonly url: string;
  readonly client: Client;
  readonly own: AsyncDisposableStack;
};

export async function openDatabase(): Promise<OpenedDatabase> {
  const url = await migratedDatabase();
  await using own = new AsyncDisposableStack();
  const client = await connect(url);
  own.defer(() => client.end());
  return { url, client, own: own.move() };
}

/** The base of tests that open a database and more things on it. */
export class TestDatabase implements AsyncDisposable {
  readonly url: string;
  /** A connection that never fails. */
  readonly client: Client;
  /** Disposed at the end, in reverse order. */
  protected readonly own: AsyncDisposableStack;

  protected constructor({ url, client, own }: OpenedDatabase) {
    this.url = url;
    this.client = client;
    this.own = own;
  }

  /** Another connection that never fails, open until the end. */
  async another(): Promise<Client> {
    const client = await connect(this.url);
    this.own.defer(() => client.end());
    return client;
  }

  /** How many connections wait for a lock. */
  async waiting(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' " +
        'AND datname = current_database()',
    );
    return rows[0]!.n;
  }

  /** The row of an instance. */
  async instance(id: number): Promise<Readonly<Record<string, unknown>>> {
    const { rows } = await this.client.query<Record<string, unknown>>(
      'SELECT *, beat_at::text AS heartbeat FROM svc.instance WHERE id = $1',
      [id],
    );
    return rows[0]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.own[Symbol.asyncDispose]();
  }
}
