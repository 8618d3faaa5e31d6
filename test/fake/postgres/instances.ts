/** Instances on one database, all in this process, each with its own connection that can fail. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { steadyNow, type ClockReading } from '../../../src/lib/clock.ts';
import type { ProcessFacts } from '../../../src/ledger/postgres/ledger/instance.ts';
import type { PostgresBatches } from '../../../src/ledger/postgres/deps.ts';
import {
  joinInstances,
  createPeers,
  type PeersWithHeartbeat,
  type PeersTimes,
} from '../../../src/ledger/postgres/peers/peers.ts';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { compose } from '../../../src/ledger/postgres/write/compose.ts';
import { Batches, type BatchTimes } from '../../../src/ledger/postgres/write/batches.ts';
import { Writer } from '../../../src/ledger/postgres/write/writer.ts';
import { handClock } from '../../support/hand-clock.ts';
import { patienceMs } from '../../support/waiting.ts';
import { openDatabase, TestDatabase } from './database.ts';
import { farProcess } from './marks.ts';
import { Way } from './way.ts';

/** Of these only the heartbeats use the machine's clock. */
export const shortTimes: PeersTimes = { heartbeatMs: 20, deadMs: 2_000, holdMs: 1_000 };
/** Less than a third of `deadMs`, and less than `holdMs`. */
const stepMs = 500;

/** Its batches go with heartbeats alone. */
const alone: BatchTimes = {
  awayMs: patienceMs,
  heartbeatMs: 1e6,
  holdMs: patienceMs,
  undoneMs: patienceMs,
  closeMs: patienceMs,
  fullRetryMs: 20,
};

type Begun = {
  readonly self?: ProcessFacts;
  readonly follow?: ((reading: ClockReading) => void) | undefined;
};

export type TestInstance = {
  readonly id: number;
  readonly peers: PeersWithHeartbeat;
  readonly batches: PostgresBatches;
  readonly way: Way;
  /** Why it can write no more; null: it can. */
  readonly broken: () => Error | null;
  /** Simulates a kill of its process. */
  readonly kill: () => void;
  readonly close: () => Promise<void>;
};

export class TestInstances extends TestDatabase {
  /** The clock for deaths and lost leases. */
  readonly clock = handClock();

  static async open(): Promise<TestInstances> {
    return new TestInstances(await openDatabase());
  }

  async begin(times: PeersTimes = shortTimes, { self = farProcess, follow }: Begun = {}) {
    const way = this.own.use(await Way.to(this.url));
    const reach = (): Promise<Client> => connect(way.url(this.url), { timeoutMs: patienceMs });
    const client = await reach();
    const joined = await joinInstances(client, { version: '1', self, now: Date.now, follow });
    assert.ok(joined.kind === 'joined');
    const writer = new Writer(client, {
      instance: joined.id,
      connect: reach,
      answerMs: patienceMs,
    });
    const taker = { instance: joined.id, takes: true, takesSuspects: true };
    const batches: PostgresBatches = new Batches(writer, {
      compose: (writes) => compose(writes, taker),
      steady: steadyNow,
      times: alone,
    });
    this.own.defer(() => batches.abandon());
    let error: Error | null = null;
    batches.onBroken((why) => (error = why));
    const faulted = (why: unknown): void => assert.fail(why as Error);
    // Waits that follow the server's time use the machine's clock.
    const { steady, deadlines } = this.clock;
    const clock = follow === undefined ? { steady, deadlines } : {};
    const peers = createPeers({ joined, batches, times, faulted, follow, ...clock });
    this.own.defer(() => peers.close());
    const one: TestInstance = {
      id: joined.id,
      peers,
      batches,
      way,
      broken: () => error,
      kill: () => batches.abandon(),
      async close() {
        peers.close();
        await batches.close();
      },
    };
    return one;
  }

  /** Begins so many instances that know each other. */
  async beginAll(count: number, times: PeersTimes = shortTimes): Promise<readonly TestInstance[]> {
    const all: TestInstance[] = [];
    for (let at = 0; at < count; at++) all.push(await this.begin(times));
    for (const { peers } of all) await knows(peers, count);
    return all;
  }

  /** Lets so much time pass in steps. At each step these instances send a heartbeat. */
  async pass(ms: number, ...living: readonly TestInstance[]): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.pass(Math.min(left, stepMs));
      // One heartbeat may be under way, so two are needed.
      await Promise.all(living.map(({ peers }) => heartbeats(peers, 2)));
    }
  }

  /**
   * Waits until these instances have declared a silent one dead. A write of the killed instance may
   * land, or hold its row, meanwhile. So there is time for two such spans.
   */
  passUntilDead(...living: readonly TestInstance[]): Promise<void> {
    return this.pass(2 * (shortTimes.deadMs + 2 * stepMs), ...living);
  }

  async lease(name: string): Promise<{ readonly owner: number | null; readonly epoch: number }> {
    const { rows } = await this.client.query<{ owner: number | null; epoch: number }>(
      'SELECT owner, epoch FROM svc.post WHERE name = $1',
      [name],
    );
    return rows[0] ?? { owner: null, epoch: 0 };
  }
}

/** Resolves when this instance sees so many living ones. */
export function knows(peers: PeersWithHeartbeat, count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (peers.instances().length !== count) return;
      stop();
      resolve();
    };
    const stop = peers.onChange(look);
    look();
  });
}

/** Resolves after so many more heartbeats. */
export function heartbeats(peers: PeersWithHeartbeat, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => peers.heartbeat.onNews(() => --left === 0 && resolve()));
}

/** Work under a lease: it runs until it is stopped, and then until `end` is called. */
export function work() {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<void>();
  const run = (stop: AbortSignal): Promise<void> => {
    begun.resolve(stop);
    return end.promise;
  };
  return { run, begun: begun.promise, end: () => end.resolve() };
}

export const stopped = (signal: AbortSignal): Promise<unknown> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
