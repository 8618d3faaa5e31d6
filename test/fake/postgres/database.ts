/** A database with svc's tables, and connections to it that nothing happens to. */
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

/** For who opens one, and has more on it. */
export class TestDatabase implements AsyncDisposable {
  readonly url: string;
  /** A connection that nothing happens to. */
  readonly client: Client;
  /** Closed at the end, what was added last at first. */
  protected readonly own: AsyncDisposableStack;

  protected constructor({ url, client, own }: OpenedDatabase) {
    this.url = url;
    this.client = client;
    this.own = own;
  }

  /** Another connection that nothing happens to, until this is over. */
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

  /** What is written down of an instance. */
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
