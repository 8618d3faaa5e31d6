/** The query plans of the statements of a batch, in a ledger of many messages. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { gatherOnlyWhenTold, planOf, tablesReadWhole } from '../../../../test/fake/explain.ts';
import { beganAt, fillAll, idAt } from '../../../../test/fake/filled-postgres.ts';
import { migratedDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import type { ApprovalId } from '../../../domain/ids.ts';
import type { AskedRecord } from '../../engine/approvals.ts';
import { connect } from '../server/connect.ts';
import type { AcceptWrite, Taker } from './accepts.ts';
import { compose } from './compose.ts';
import type { Statement } from './statement.ts';
import type { TurnWrite } from './turns.ts';
import type { Write } from './writes.ts';

const taker: Taker = { instance: 1, takes: true, takesSuspects: false };

const messages = 12_000;

/** These tables stay small, so the server may scan them as a whole. */
const maybeWhole = new Set(['inbox', 'outbox']);

function accept(number: number, key: string | null): AcceptWrite {
  return {
    kind: 'accept',
    id: idAt(messages + number),
    channel: 'webhook',
    conversation: `c${number}`,
    at: beganAt,
    sender: 'ann',
    private: true,
    body: '{}',
    key,
    expiresAt: beganAt + 1_000,
    fingerprint: null,
  };
}

function turn(number: number): TurnWrite {
  const use = { key: `k${number}`, at: 1, ms: 1, tool: 't', mode: 'allow', rule: 'r' };
  return {
    kind: 'turn',
    id: idAt(messages - number),
    channel: 'webhook',
    conversation: 'c',
    at: beganAt,
    brain: 'main',
    outcome: 'reply',
    model: null,
    failure: null,
    trace: '{}',
    unsent: null,
    replies: [{ id: `${idAt(messages - number)}-00`, channel: 'webhook', at: 1, body: '{}' }],
    said: { session: 2, at: 1, quoted: false, private: true, text: 'a', reply: 'b' },
    queue: { session: 2, startedAt: 1, previousAt: 1, windows: null },
    cut: { session: 2, at: 1, reason: 'command' },
    marks: [{ session: 1, at: 1, mark: 1 }],
    uses: [{ ...use, outcome: 'done', arguments: '{}', told: null }],
    notes: [
      { kind: 'clear', brain: null },
      { kind: 'clear', brain: 'b' },
      { kind: 'add', brain: null, at: 1, private: true, text: 'n', max: 9 },
      { kind: 'add', brain: 'b', at: 1, private: true, text: 'n', max: 9 },
    ],
  };
}

const tried = { failure: '{}', tried: '[]', attempts: 1 };
const call = {
  key: 'k1',
  at: 1,
  ms: 1,
  tool: 't',
  mode: 'allow',
  rule: 'r',
  arguments: '{}',
  told: null,
};
const place = { messageId: idAt(1), channel: 'webhook', conversation: 'c1' };

const approval: AskedRecord = {
  id: idAt(1),
  code: '0123456789',
  ...place,
  sender: 'ann',
  brain: 'main',
  tool: 'http_post',
  private: true,
  askedAt: 1,
  expiresAt: 2,
  body: '{}',
};

const writes: readonly Write[] = [
  accept(1, 'one'),
  accept(2, 'two'),
  accept(3, null),
  { kind: 'single', text: 'SELECT 1', values: [], queues: [{ channel: 'w', conversation: 'c' }] },
  turn(1),
  turn(2),
  {
    ...turn(3),
    asked: [approval],
    settled: { id: '3'.padStart(22, '0') as ApprovalId, outcome: null },
  },
  { kind: 'sent', id: `${idAt(messages - 1)}-00`, at: 1, tookMs: 1, ...tried },
  {
    kind: 'deferred',
    id: `${idAt(messages - 2)}-00`,
    ...tried,
    dueAt: 1,
    late: false,
    parked: false,
    possibleDuplicate: false,
    uncounted: 0,
  },
  { kind: 'begun', ...call, ...place, outcome: 'unknown', hash: 'h', private: true },
  { kind: 'ended', key: 'k1', text: 't', outcome: 'done', ms: 1 },
  { kind: 'cursor', channel: 'webhook', name: 'n', value: 'v' },
  { kind: 'audit', at: 1, action: 'a', target: '{}', status: 200, reason: null },
];

/** All kinds at once, then each kind alone: a set leaves out parts that no row needs. */
function statementsOfAll(): readonly Statement[] {
  const alone = writes.flatMap((write) => compose([write], taker).statements);
  return [...compose(writes, taker).statements, ...alone];
}

async function judge(client: Client, when: string): Promise<void> {
  for (const { again, ...statement } of statementsOfAll()) {
    for (const asked of again === undefined ? [statement] : [statement, again]) {
      const whole = await tablesReadWhole(client, asked);
      const large = whole.filter((table) => !maybeWhole.has(table));
      assert.deepEqual(large, [], `${when}: ${asked.text}`);
      const nodes = await planOf(client, asked);
      const joins = nodes.filter(({ Plans = [] }) => {
        return Plans.length > 1 && Plans.every((one) => one['Node Type'] === 'CTE Scan');
      });
      assert.deepEqual(joins, [], `${when}, two sets are joined: ${asked.text}`);
    }
  }
}

postgresTest('no batch reads a large table whole, or joins two sets', async () => {
  const client = await connect(await migratedDatabase());
  try {
    await gatherOnlyWhenTold(client);
    await fillAll(client, messages);
    await client.query(
      "INSERT INTO svc.lane (channel, conversation) SELECT 'webhook', 'idle ' || i " +
        'FROM generate_series(1, 50000) AS i',
    );
    await client.query(
      'INSERT INTO svc.tool_call (key, message_id, tool, hash, private) ' +
        "SELECT 'other ' || i, lpad(i::text, 22, '1'), 't', 'h', false " +
        'FROM generate_series(1, 100000) AS i',
    );
    await client.query(
      'INSERT INTO svc.tool_use (seq, key, message_id, channel, conversation, at, ms, tool, ' +
        "mode, rule, outcome, arguments) SELECT 1000000 + i, 'other ' || i, " +
        "lpad(i::text, 22, '1'), 'webhook', 'c', i, 1, 't', 'allow', 'r', 'done', '{}' " +
        'FROM generate_series(1, 100000) AS i',
    );
    await client.query('ANALYZE');
    await judge(client, 'filled');
  } finally {
    await client.end();
  }
});

postgresTest('each statement of a batch is one that an empty server takes', async () => {
  const client = await connect(await migratedDatabase());
  try {
    for (const statement of statementsOfAll()) {
      assert.ok((await planOf(client, statement)).length > 0);
    }
  } finally {
    await client.end();
  }
});
