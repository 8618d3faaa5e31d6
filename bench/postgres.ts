/**
 * Measures the ledger's cost of a message by stage, on PostgreSQL and on SQLite. The stages:
 * accepted with a key, claimed, answered with one reply and a turn, delivered. No HTTP and no
 * model. The server's time is planning and executing in `pg_stat_statements`, and the CPU of its
 * processes. The time of svc is the CPU of this process, including the client. Arguments: the
 * number of messages, and how many of them at once.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIdSource, type ChannelKey, type ConversationId } from '../src/domain/ids.ts';
import { systemClock } from '../src/lib/clock.ts';
import { openPostgresStore } from '../src/ledger/postgres/postgres.ts';
import { connect } from '../src/ledger/postgres/server/connect.ts';
import { openSqliteLedger } from '../src/ledger/sqlite/sqlite.ts';
import type { Effects, InClaim, Ledger } from '../src/ledger/ledger.ts';
import { PostgresServer } from '../test/fake/postgres/server.ts';
import { scratch } from '../test/support/program.ts';
import { serverCpuSecondsOf } from './cpu-time.ts';
import { table } from './stats.ts';

const messages = Number(process.argv[2] ?? 20_000);
const inFlight = Number(process.argv[3] ?? 64);
const warmUp = Math.min(2_000, messages);
const conversations = 1_000;
const channel = 'webhook' as ChannelKey;
const text = 'What was said is some eighty characters long, as most of what people write is. ';

let said = 0;
let replies = 0;

/** Each pattern matches a word that no other stage's statements have. */
const stages: readonly (readonly [stage: string, holds: RegExp])[] = [
  ['keys', /INTO svc\.dedupe/],
  ['lanes', /INTO svc\.lane/],
  ['accept', /INTO svc\.inbox/],
  ['known keys', /svc\.dedupe/],
  ['turn', /DELETE FROM svc\.inbox/],
  ['delivery', /DELETE FROM svc\.outbox/],
  ['history', /svc\.turn/],
  ['lanes let go', /x\.tail = lane\.tail OR x\.given/],
  ['news', /FROM svc\.board/],
  ['fence', /UPDATE svc\.instance/],
  ['commit and the rest', /./],
];

await using folder = await scratch();
const sqlite = await openSqliteLedger({ path: join(folder.path, 'svc.db'), ...options() });
console.log(`${messages} messages, ${inFlight} at once, ${conversations} conversations`);
console.log(`SQLite: ${await measure(opened(sqlite))}`);

const library = { shared_preload_libraries: 'pg_stat_statements', fsync: 'on' };
const planning = { 'pg_stat_statements.track_planning': 'on', 'pg_stat_statements.max': '1000' };
await using server = await PostgresServer.start({
  inFolder: tmpdir(),
  settings: { ...library, ...planning },
});
const url = await server.newDatabase();
const beside = await connect(url);
await beside.query('CREATE EXTENSION pg_stat_statements');
const store = await openPostgresStore({ url, version: 'bench', ...options() });
if ('kind' in store) throw new Error(store.message);
const served = await measure(
  opened(store.ledger),
  async () => void (await beside.query('SELECT pg_stat_statements_reset()')),
  () => serverCpuSecondsOf(join(server.folder, 'data')),
);
console.log(`PostgreSQL: ${served}`);
console.log(table([['stage', 'µs planned', 'µs executed', 'flights'], ...(await byStage())]));
const size = await beside.query<{ bytes: number }>(
  'SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class ' +
    "WHERE relkind = 'r' AND relnamespace = 'svc'::regnamespace",
);
const bytesEach = Math.round(size.rows[0]!.bytes / (messages + warmUp));
console.log(`${bytesEach} bytes a message on the disk, with its reply, turn, trace and indexes`);
await beside.end();

function options() {
  const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
  return { ...systemClock, ids: createIdSource(Date.now, random), retentionDays: 30 };
}

function opened(one: Ledger | { readonly message: string }): Ledger {
  if ('message' in one) throw new Error(one.message);
  return one;
}

/**
 * @param begin called once everything is warm
 * @param serverSeconds returns the server's CPU so far
 */
async function measure(
  of: Ledger,
  begin: () => Promise<void> = async () => {},
  serverSeconds: () => number = () => 0,
): Promise<string> {
  await run(of, warmUp);
  await begin();
  const [own, theirs, startedAt] = [process.cpuUsage(), serverSeconds(), performance.now()];
  await run(of, messages);
  const { user, system } = process.cpuUsage(own);
  const ms = performance.now() - startedAt;
  const serverUs = (1e6 * (serverSeconds() - theirs)) / messages;
  await of[Symbol.asyncDispose]();
  const each = `${Math.round((user + system) / messages)} µs of CPU in svc`;
  const inServer = `${Math.round(serverUs)} µs in the server`;
  return `${Math.round((1_000 * messages) / ms)}/s, ${each}, ${inServer}`;
}

async function run(of: Ledger, count: number): Promise<void> {
  const until = said + count;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (said < until) await exchange(of, said++);
    }),
  );
}

async function exchange(of: Ledger, number: number): Promise<void> {
  const conversation = `c${number % conversations}` as ConversationId;
  const inbound = {
    channel,
    conversation,
    sender: { id: String(conversation), name: null },
    text,
    media: null,
    address: { channel, target: String(conversation) },
    dedupeKey: `k${number}-${Math.random()}`,
    sensitivity: 'private',
  } as const;
  await of.accept([inbound]);
  for (const claim of await of.claim('in', channel, 1)) {
    await of.complete(claim, effectsOf(claim));
    for (const reply of await of.claim('out', channel, 8)) await of.delivered(reply);
  }
}

function effectsOf({ message }: InClaim): Effects {
  const { id, acceptedAt, sensitivity } = message;
  const reply = {
    id: `${id.slice(0, 10)}${String(replies++).padStart(12, '0')}` as never,
    inReplyTo: id,
    conversation: message.conversation,
    address: message.address,
    brain: 'main',
    text,
    createdAt: acceptedAt,
    sessionStarted: null,
  };
  return {
    replies: [reply],
    turn: { at: acceptedAt, text, reply: text, sensitivity },
    session: null,
    imported: null,
    leftOut: [],
    doubted: [],
    notes: [],
    toolUses: [],
    unsent: [],
    trace: {
      acceptedAt,
      claimedAt: acceptedAt,
      decidedAt: acceptedAt,
      brain: 'main',
      attempt: 1,
      outcome: 'reply',
      steps: [],
    },
  };
}

async function byStage(): Promise<readonly (readonly string[])[]> {
  const { rows } = await beside.query<Record<'query' | 'plan' | 'exec' | 'calls', string>>(
    'SELECT query, total_plan_time AS plan, total_exec_time AS exec, calls FROM pg_stat_statements',
  );
  const sums = new Map(stages.map(([stage]) => [stage, { plan: 0, exec: 0, calls: 0 }]));
  for (const { query, plan, exec, calls } of rows) {
    const [stage] = stages.find(([, holds]) => holds.test(query))!;
    const sum = sums.get(stage)!;
    sum.plan += Number(plan);
    sum.exec += Number(exec);
    sum.calls = Math.max(sum.calls, Number(calls));
  }
  const us = (ms: number): string => ((1_000 * ms) / messages).toFixed(1);
  return [...sums].map(([stage, { plan, exec, calls }]) => {
    return [stage, us(plan), us(exec), String(calls)];
  });
}
