/** Several stores on one database, all in this process, each with a proxy that can fail. */
import { steadyNow } from '../../../src/lib/clock.ts';
import type { InClaim, Ledger, OutClaim } from '../../../src/ledger/ledger.ts';
import type { Peers } from '../../../src/cluster/backend.ts';
import { openPostgresStore, type PostgresOptions } from '../../../src/ledger/postgres/postgres.ts';
import { hook, newIds, until, type HasLedger } from '../../contract/ledger/kit.ts';
import { openDatabase, TestDatabase } from './database.ts';
import { patienceMs } from '../../support/waiting.ts';
import { farProcess } from './marks.ts';
import { Way } from './way.ts';

/** Frequent heartbeats; no instance dies or loses a lease by time alone. */
const frequent = { heartbeatMs: 50, deadMs: patienceMs, holdMs: patienceMs };

export type TestStore = {
  readonly id: number;
  readonly ledger: Ledger;
  readonly peers: Peers;
  readonly way: Way;
  /** Simulates a kill of its process. */
  readonly kill: () => void;
  readonly close: () => Promise<void>;
  /** Why its storage has failed; null: it has not. */
  readonly fault: () => unknown;
};

/** The row of a conversation queue. */
export type QueueRow = {
  readonly owner: number | null;
  readonly epoch: number;
  readonly tail: number;
  readonly waits: number;
};

export class TestStores extends TestDatabase {
  static async open(): Promise<TestStores> {
    return new TestStores(await openDatabase());
  }

  /** Begins another store that serves the webhook; the first one has the leases. */
  async begin(more: Partial<PostgresOptions> = {}): Promise<TestStore> {
    const way = this.own.use(await Way.to(this.url));
    const life = new AbortController();
    let fault: unknown = null;
    const store = await openPostgresStore({
      url: way.url(this.url),
      now: Date.now,
      steady: steadyNow,
      ids: newIds(),
      retentionDays: 0,
      version: 'test',
      peersTimes: frequent,
      self: farProcess,
      killed: life.signal,
      onFault: (error) => (fault = error),
      ...more,
    });
    if ('kind' in store) throw new Error(store.message);
    const { ledger, peers } = store;
    this.own.defer(() => ledger[Symbol.asyncDispose]());
    ledger.serve([hook]);
    return {
      id: peers.id,
      ledger,
      peers,
      way,
      kill: () => life.abort(),
      close: () => ledger[Symbol.asyncDispose](),
      fault: () => fault,
    };
  }

  /** Begins two that know each other. */
  async beginTwo(
    more: Partial<PostgresOptions> = {},
    moreOfOther: Partial<PostgresOptions> = more,
  ): Promise<readonly [TestStore, TestStore]> {
    const both = [await this.begin(more), await this.begin(moreOfOther)] as const;
    for (const { peers } of both) await until('all are known', () => peers.limitShare() === 2);
    return both;
  }

  /** Declares it dead, as the others would after a while. @param ended as JSON */
  async bury({ id, kill }: TestStore, ended: object | null = null): Promise<void> {
    kill();
    const told = ended === null ? null : JSON.stringify(ended);
    const text = 'UPDATE svc.instance SET dead = true, ended = $2 WHERE id = $1';
    await this.client.query(text, [id, told]);
  }

  /** @returns null: the queue has no row */
  async queue(conversation: string, channel: string = hook): Promise<QueueRow | null> {
    const { rows } = await this.client.query<QueueRow>(
      'SELECT owner, epoch, tail, waits FROM svc.lane WHERE channel = $1 AND conversation = $2',
      [channel, conversation],
    );
    return rows[0] ?? null;
  }

  /** Resolves when that queue has this owner. */
  owned(conversation: string, owner: number | null, channel: string = hook): Promise<void> {
    return until(`${conversation} belongs to ${owner}`, async () => {
      return (await this.queue(conversation, channel))?.owner === owner;
    });
  }

  /** Makes each claim of a queue wait in its transaction. @returns a function that releases them */
  async holdUpTakes(): Promise<() => Promise<void>> {
    const client = await this.another();
    await client.query(`
      CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN PERFORM pg_advisory_xact_lock(777); RETURN NEW; END$$;
      CREATE TRIGGER hold_up BEFORE UPDATE ON svc.lane FOR EACH ROW
      WHEN (OLD.owner IS NULL AND NEW.owner IS NOT NULL) EXECUTE FUNCTION hold_up();
      SELECT pg_advisory_lock(777)`);
    return async () => void (await client.query('SELECT pg_advisory_unlock(777)'));
  }
}

/** Waits for the next message there that can be claimed. */
export async function comesIn({ ledger }: HasLedger, channel = hook): Promise<InClaim> {
  let claims: readonly InClaim[] = [];
  await until('a message can be claimed', async () => {
    claims = await ledger.claim('in', channel, 1);
    return claims.length > 0;
  });
  return claims[0]!;
}

/** Waits for the next reply there that can be claimed. */
export async function comesOut({ ledger }: HasLedger, channel = hook): Promise<OutClaim> {
  let claims: readonly OutClaim[] = [];
  await until('a reply can be claimed', async () => {
    claims = await ledger.claim('out', channel, 1);
    return claims.length > 0;
  });
  return claims[0]!;
}
