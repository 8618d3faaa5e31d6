/** The parts of PostgreSQL's ledger on a new database, and the statements that they send. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { steadyNow } from '../../src/lib/clock.ts';
import { peersAlone } from './peers.ts';
import { CrashIsolation } from '../../src/ledger/engine/crash-isolation.ts';
import { WorkingSet } from '../../src/ledger/engine/working-set.ts';
import { DeadLetters } from '../../src/ledger/postgres/ledger/dead-letters.ts';
import { Forgetting } from '../../src/ledger/postgres/ledger/forgetting.ts';
import { Counting } from '../../src/ledger/postgres/ledger/counting.ts';
import { History } from '../../src/ledger/postgres/ledger/history.ts';
import { ownProcess } from '../../src/ledger/postgres/ledger/instance.ts';
import { Invalidations } from '../../src/ledger/postgres/ledger/invalidations.ts';
import { Queues } from '../../src/ledger/postgres/queues/queues.ts';
import type { PostgresBatches, Reads } from '../../src/ledger/postgres/deps.ts';
import { joinInstances, type PeersWithHeartbeat } from '../../src/ledger/postgres/peers/peers.ts';
import { connect, cut } from '../../src/ledger/postgres/server/connect.ts';
import { ServerReads } from '../../src/ledger/postgres/server/reads.ts';
import { compose } from '../../src/ledger/postgres/write/compose.ts';
import { batchTimes, Batches } from '../../src/ledger/postgres/write/batches.ts';
import type { Query } from '../../src/ledger/postgres/write/statement.ts';
import { Writer } from '../../src/ledger/postgres/write/writer.ts';
import { migratedDatabase } from './postgres.ts';

/** The parts' time of day. */
export const now = 1_800_000_000_000;

export type LedgerDeps = AsyncDisposable & {
  /** A connection beside the parts, for the rows of a case. */
  readonly client: Client;
  readonly rows: WorkingSet;
  readonly reads: Reads;
  readonly batches: PostgresBatches;
  /** Every statement that the parts sent. */
  readonly asked: Query[];
  readonly letters: DeadLetters;
  readonly forgetting: Forgetting;
  /** Runs `act` once, when a read has its rows, before it returns them. */
  afterFound(act: () => Promise<unknown>): void;
  /** The next batch commits, and its answers are lost with the connection. */
  loseAnswers(): void;
};

/** @param fill makes the rows that exist when the ledger opens */
export async function openParts(
  fill: (client: Client) => Promise<unknown> = async () => {},
): Promise<LedgerDeps> {
  const url = await migratedDatabase();
  await using opened = new AsyncDisposableStack();
  const client = await connect(url);
  opened.defer(() => client.end());
  await fill(client);
  const self = ownProcess();
  const joined = await joinInstances(client, { version: 'test', self, now: () => now });
  if (joined.kind !== 'joined') throw new Error('somebody else has it');
  const asked: Query[] = [];
  const server = new ServerReads(() => connect(url), 60_000);
  let then: (() => Promise<unknown>) | null = null;
  const reads: Reads = {
    async ask(one) {
      asked.push(one);
      const found = await server.ask(one);
      const act = found.length > 0 ? then : null;
      if (act !== null) then = null;
      await act?.();
      return found;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  opened.use(reads);
  const rows = new WorkingSet({ now: () => now, steady: steadyNow });
  const history = await History.open(reads);
  const queues = new Queues({
    instance: joined.id,
    rows,
    history,
    reads,
    slowReads: reads,
    heldMax: 1_000,
    counting: new Counting(reads, steadyNow),
    lettersCounted() {},
    sooner() {},
    now: () => now,
    steady: steadyNow,
  });
  const way = new Losing(url);
  const writer = new Writer(await way.connect(), {
    instance: joined.id,
    connect: way.connect,
    answerMs: 15_000,
  });
  const batches: PostgresBatches = new Batches(writer, {
    compose(writes) {
      const composed = compose(writes, queues.taker);
      asked.push(...composed.statements);
      return composed;
    },
    steady: steadyNow,
    // Without heartbeats no empty batch comes between.
    times: { ...batchTimes, heartbeatMs: 3_600_000 },
    trailing: queues.moves,
  });
  opened.defer(() => batches.close());
  const heartbeat = { onEnd() {}, onNews() {} } as unknown as PeersWithHeartbeat['heartbeat'];
  const peers: PeersWithHeartbeat = { ...peersAlone(), id: joined.id, heartbeat, close() {} };
  const limits = { aloneMs: 30_000, besideMs: 3_000, stallMs: 120_000 };
  const marks = { mark: () => Promise.resolve(true), clear() {} };
  const crashIsolation = new CrashIsolation([], { rows, steady: steadyNow, limits, ...marks });
  const failed = (error: unknown): void => assert.fail(error as Error);
  queues.begin(batches, peers, crashIsolation, failed);
  const parts = { reads, batches, rows, history, queues, now: () => now };
  const letters = await DeadLetters.open(parts);
  const invalidations = new Invalidations({ peers, rows, history });
  const forgetting = new Forgetting({ ...parts, deadLetters: letters, invalidations });
  const closing = opened.move();
  return {
    client,
    rows,
    reads,
    batches,
    asked,
    letters,
    forgetting,
    afterFound: (act) => void (then = act),
    loseAnswers: () => void (way.loses = true),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Connections whose answers can be lost. */
class Losing {
  loses = false;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  readonly connect = async (): Promise<Client> => {
    const client = await connect(this.#url);
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    const asked = async (...given: unknown[]): Promise<unknown> => {
      const isLost = given[0] === 'COMMIT' && this.loses;
      if (isLost) this.loses = false;
      const answer = await query(...given);
      if (!isLost) return answer;
      cut(client);
      throw Object.assign(new Error('the connection is lost'), { code: 'ECONNRESET' });
    };
    client.query = asked as unknown as typeof client.query;
    return client;
  };
}
