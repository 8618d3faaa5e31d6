/** Measures messages where several instances work on one database at once. */
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import type { PostgresServer } from '../../test/fake/postgres/server.ts';
import { figure, median, table } from '../stats.ts';
import { askAll, InstanceProcess } from './instances.ts';
import { countServer, startServer } from './server.ts';

const conversations = 1_000;
const atOnce = 64;
const warmUpMs = 2_000;
/** A server that answers in time is busy for at most this share of its time. */
const busyMax = 0.7;

/**
 * `any`: a message reaches any instance; `own`: each conversation has one. `each`: this many
 * messages at once in each instance; `all`: in all together.
 */
type Way = { readonly to: 'any' | 'own'; readonly atOnce: 'each' | 'all' };
export const ways: readonly Way[] = [
  { to: 'any', atOnce: 'each' },
  { to: 'any', atOnce: 'all' },
  { to: 'own', atOnce: 'each' },
];

/** `ms`: the length of each run; `rounds`: runs for each count, in turns. */
export type ThroughputSizes = {
  readonly ways: readonly Way[];
  readonly counts: readonly number[];
  readonly ms: number;
  readonly rounds: number;
};

/** The results of a run: all but the first and the last are for each message. */
type Measured = {
  readonly perSecond: number;
  readonly serverUs: number;
  readonly svcUs: number;
  readonly walBytes: number;
  readonly batches: number;
  readonly foreignPercent: number;
};

export async function measureThroughput({ ways: all, counts, ms, rounds }: ThroughputSizes) {
  await using server = await startServer();
  for (const way of all) {
    const runs = new Map(counts.map((count) => [count, [] as Measured[]]));
    for (let round = 0; round < rounds; round++) {
      for (const count of counts) runs.get(count)!.push(await run(server, count, way, ms));
    }
    console.log(`\n${sayWay(way)}; medians of ${rounds} runs of ${figure(ms / 1e3)} s`);
    console.log(table([head, ...counts.map((count) => rowOf(count, runs))]));
  }
}

function sayWay(way: Way): string {
  const to =
    way.to === 'any' ? 'each message to any instance' : 'each conversation to one instance';
  return `${to}, ${atOnce} at once at ${way.atOnce === 'each' ? 'each instance' : 'all together'}`;
}

async function run(server: PostgresServer, count: number, way: Way, ms: number): Promise<Measured> {
  const url = await server.newDatabase();
  const instances: InstanceProcess[] = [];
  for (let at = 0; at < count; at++) instances.push(await InstanceProcess.begin(url));
  const client = await connect(url);
  await client.query('CHECKPOINT');
  const each = way.atOnce === 'each' ? atOnce : atOnce / count;
  await Promise.all(
    instances.map((one, at) => {
      const own = { conversations: conversations / count, named: `c${at} ` };
      const which = way.to === 'own' ? own : { conversations, named: 'c' };
      return one.ask({ kind: 'traffic', atOnce: each, ...which });
    }),
  );
  await pause(warmUpMs);
  const [from, before] = await look();
  await pause(ms);
  const [to, after] = await look();
  await askAll(instances, { kind: 'end-traffic' });
  await Promise.all(instances.map((one) => one.close()));
  await client.end();
  const sum = (of: 'delivered' | 'foreign' | 'cpuUs'): number =>
    to.reduce((all, one, at) => all + one[of] - from[at]![of], 0);
  const messages = sum('delivered');
  return {
    perSecond: (1e3 * messages) / (after.at - before.at),
    serverUs: (after.cpuUs - before.cpuUs) / messages,
    svcUs: sum('cpuUs') / messages,
    walBytes: (after.walBytes - before.walBytes) / messages,
    batches: (after.batches - before.batches) / messages,
    foreignPercent: (100 * sum('foreign')) / messages,
  };

  function look() {
    return Promise.all([askAll(instances, { kind: 'count' }), countServer(server, client)]);
  }
}

const head = [
  'instances',
  'a second',
  '× the first',
  'µs server',
  '× the first',
  'µs svc',
  '4 cores carry',
  '16 cores carry',
  'WAL bytes',
  'flights',
  'met another’s lane %',
];

/** Computes the load that more cores carry, if the server has them alone and they are as fast. */
function rowOf(count: number, runs: ReadonlyMap<number, readonly Measured[]>): readonly string[] {
  const own = runs.get(count)!;
  const [first] = runs.values();
  const of = (name: keyof Measured): number => median(own.map((one) => one[name]));
  /** The ratio within one round. */
  const ratio = (name: keyof Measured): number =>
    median(own.map((one, round) => one[name] / first![round]![name]));
  const carry = (cores: number): number => (busyMax * cores * 1e6) / of('serverUs');
  return [
    count,
    of('perSecond'),
    ratio('perSecond'),
    of('serverUs'),
    ratio('serverUs'),
    of('svcUs'),
    carry(4),
    carry(16),
    of('walBytes'),
    of('batches'),
    of('foreignPercent'),
  ].map((value) => figure(value));
}
