/** What errors of a real server, of the connection to it and of a pooler mean. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'pg';
import { newDatabase, postgresTest, testServer } from '../../../../test/fake/postgres.ts';
import { connect, cut } from './connect.ts';
import { codeOf, faultOf, firstOf } from './errors.ts';

async function failing(asked: Promise<unknown>): Promise<unknown> {
  const answer = await asked.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  assert.ok('error' in answer, 'it has to fail');
  return answer.error;
}

async function withClients(count: number, act: (...clients: Client[]) => Promise<void>) {
  const url = await newDatabase();
  const clients = await Promise.all(Array.from({ length: count }, () => connect(url)));
  try {
    await act(...clients);
  } finally {
    for (const client of clients) cut(client);
  }
}

async function assertFault(asked: Promise<unknown>, code: string, fault: string): Promise<void> {
  const error = await failing(asked);
  assert.equal(codeOf(error), code);
  assert.equal(faultOf(error), fault);
}

postgresTest('a fence that changes no row is fenced', async () => {
  await withClients(1, async (client) => {
    await client.query('CREATE TABLE i (id integer, grp integer)');
    const fence = `WITH mine AS (UPDATE i SET grp = 1 WHERE id = 1 RETURNING 1)
      SELECT 1 / count(*) FROM mine`;
    await assertFault(client.query(fence), '22012', 'fenced');
    await client.query('INSERT INTO i VALUES (1, 0)');
    await client.query(fence);
  });
});

postgresTest('what a statement broke off for, and only that, is told of a batch', async () => {
  await withClients(1, async (client) => {
    const sent = ['BEGIN', 'SELECT 1 / 0', 'SELECT 1'].map((text) => client.query(text));
    const settled = await Promise.allSettled(sent);
    const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    assert.deepEqual(errors.map(codeOf), ['22012', '25P02']);
    assert.equal(codeOf(firstOf(errors)), '22012');
    assert.equal(codeOf(firstOf(errors.toReversed())), '22012');
    await client.query('ROLLBACK');
  });
});

postgresTest('locks, deadlocks, time-outs and conflicts are sent again', async () => {
  await withClients(2, async (one, other) => {
    await one.query('CREATE TABLE t (id integer PRIMARY KEY, n integer)');
    await one.query('INSERT INTO t VALUES (1, 0), (2, 0)');
    await one.query('BEGIN');
    await one.query('UPDATE t SET n = 1 WHERE id = 1');
    await other.query('BEGIN');
    await other.query("SET LOCAL lock_timeout = '10ms'");
    await assertFault(other.query('UPDATE t SET n = 2 WHERE id = 1'), '55P03', 'again');
    await other.query('ROLLBACK');
    await other.query('BEGIN');
    await other.query("SET LOCAL statement_timeout = '10ms'");
    await assertFault(other.query('UPDATE t SET n = 2 WHERE id = 1'), '57014', 'again');
    await other.query('ROLLBACK');
    await other.query('BEGIN');
    await other.query('UPDATE t SET n = 2 WHERE id = 2');
    const crossed = await Promise.allSettled([
      one.query('UPDATE t SET n = 1 WHERE id = 2'),
      other.query('UPDATE t SET n = 2 WHERE id = 1'),
    ]);
    const lost = crossed.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    assert.deepEqual(lost.map(codeOf), ['40P01']);
    assert.deepEqual(lost.map(faultOf), ['again']);
    await one.query('ROLLBACK');
    await other.query('ROLLBACK');
    await one.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await one.query('SELECT * FROM t');
    await other.query('UPDATE t SET n = 5');
    await assertFault(one.query('UPDATE t SET n = 6'), '40001', 'again');
  });
});

postgresTest('a server that ends the connection, or takes no writes, is away', async () => {
  await withClients(2, async (one, other) => {
    await one.query('BEGIN READ ONLY');
    await assertFault(one.query('CREATE TABLE t (n integer)'), '25006', 'away');
    await one.query('ROLLBACK');
    const pid = (one as unknown as { processID: number }).processID;
    const ended = failing(one.query('SELECT pg_sleep(600)'));
    const lost = failing(one.query('SELECT 1'));
    const asleep = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid = $1";
    while ((await other.query(asleep, [pid])).rowCount === 0);
    await other.query('SELECT pg_terminate_backend($1)', [pid]);
    assert.equal(codeOf(await ended), '57P01');
    assert.equal(faultOf(await ended), 'away');
    assert.equal(faultOf(await lost), 'away', 'what was behind it has no code');
    assert.equal(faultOf(await failing(one.query('SELECT 1'))), 'away', 'and what comes later');
    const cutOff = failing(other.query('SELECT pg_sleep(600)'));
    cut(other);
    assert.equal(faultOf(await cutOff), 'away');
  });
});

postgresTest('a connection that idles too long in a transaction is away', async () => {
  await withClients(1, async (client) => {
    const ended = new Promise((resolve) => void client.once('error', resolve));
    await client.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10ms'");
    const error = await ended;
    assert.equal(codeOf(error), '25P03');
    assert.equal(faultOf(error), 'away');
  });
});

postgresTest(
  'too many connections are away, a wrong database and our own errors a fault',
  async () => {
    const url = await newDatabase();
    const name = new URL(url).pathname.slice(1);
    const role = `few_${name}`;
    const admin = await connect(url);
    await admin.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 0 PASSWORD 'p'`);
    const few = new URL(url);
    few.username = role;
    few.password = 'p';
    await assertFault(connect(few.href), '53300', 'away');
    await assertFault(connect((await testServer()).url(`${name}_not`)), '3D000', 'fault');
    await assertFault(admin.query('SELECT * FROM nothing_there'), '42P01', 'fault');
    await assertFault(admin.query('SELECT $1::text', ['a', 'b']), '08P01', 'fault');
    await assertFault(admin.query('SELECT $1::text', ['a\0b']), '22021', 'fault');
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
  },
);

test('the system, a pooler and a full disk', () => {
  const faults: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'away',
    EPIPE: 'away',
    ENOTFOUND: 'away',
    CERT_HAS_EXPIRED: 'away',
    SVC_TIMEOUT: 'away',
    SVC_NO_PASSWORD: 'fault',
    '08006': 'away',
    '57P03': 'away',
    '53100': 'full',
    '53200': 'full',
    '58030': 'fault',
    '28P01': 'fault',
    EPERM: 'fault',
  };
  for (const [code, fault] of Object.entries(faults)) assert.equal(faultOf({ code }), fault, code);
  const routine = 'exec_bind_message';
  assert.equal(faultOf({ code: '08P01', routine }), 'fault');
  assert.equal(faultOf({ code: '08P01', message: 'server conn crashed?' }), 'away');
  assert.equal(faultOf({ code: 'XX000', routine: 'elog' }), 'fault');
  assert.equal(faultOf(new Error('a bug')), 'fault');
  assert.equal(faultOf(null), 'fault');
});
