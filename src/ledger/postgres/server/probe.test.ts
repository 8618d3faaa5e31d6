/**
 * What a probe finds at servers of all kinds, and the sentences with which a start refuses one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDatabase, ownPostgresTest, postgresTest } from '../../../../test/fake/postgres.ts';
import { PostgresServer } from '../../../../test/fake/postgres/server.ts';
import { readAddress, ServerAddress } from './address.ts';
import { connect, ConnectError } from './connect.ts';
import { probeFacts, type ServerFacts } from './probe.ts';
import { ForeignSchema, migrate, migrationFiles, NewerSchema } from './migrations.ts';
import { lockedProblem, problemOf, refusalOf } from './problem.ts';

const where = 'database "svc" on db.example:5432';

async function look(url: string): Promise<ServerFacts> {
  const client = await connect(url, { anyHost: true });
  try {
    return await probeFacts(client);
  } finally {
    await client.end();
  }
}

postgresTest('a good server is told as it is, before and after the schema is made', async () => {
  const url = await newDatabase();
  const before = await look(url);
  assert.equal(refusalOf(before, where), null);
  assert.deepEqual([before.schema, before.schemaVersion, before.bytes], ['none', 0, 0]);
  assert.ok(before.versionNumber >= 140_000 && before.connectionsLeft > 0);
  assert.ok(before.fsync && before.fullPageWrites && !before.isEncrypted && !before.isStandby);
  assert.ok(Math.abs(before.clockAheadMs) < 2_000);
  const client = await connect(url);
  await migrate(client);
  const after = await look(url);
  assert.deepEqual([after.schema, after.schemaVersion], ['ours', migrationFiles().length]);
  assert.ok(after.bytes > 100_000);
  assert.equal(refusalOf(after, where), null);
  await client.query('UPDATE svc.schema SET version = version + 1');
  assert.equal(refusalOf(await look(url), where), null, 'the next one is known');
  await client.query('UPDATE svc.schema SET version = version + 1');
  assert.equal(refusalOf(await look(url), where)?.code, 'storage_newer_schema');
  await client.query('DROP SCHEMA svc CASCADE; CREATE SCHEMA svc; CREATE TABLE svc.orders (n int)');
  assert.equal(refusalOf(await look(url), where)?.code, 'storage_foreign');
  await client.end();
});

postgresTest('a right that is lacking is named as it is granted', async () => {
  const url = await newDatabase();
  const admin = await connect(url);
  const name = new URL(url).pathname.slice(1);
  const role = `poor_${name}`;
  const own = new URL(url);
  own.username = role;
  const missing = async (): Promise<string | null> => (await look(own.href)).missingRight;
  await admin.query(`CREATE ROLE ${role} LOGIN`);
  assert.equal(await missing(), 'CREATE on the database');
  await admin.query('CREATE SCHEMA svc');
  assert.equal(await missing(), 'USAGE on the schema svc');
  await admin.query(`GRANT USAGE ON SCHEMA svc TO ${role}`);
  assert.equal(await missing(), 'CREATE on the schema svc');
  await migrate(admin);
  await admin.query(`GRANT ALL ON ALL TABLES IN SCHEMA svc TO ${role}`);
  assert.equal(await missing(), null, 'the schema is there');
  await admin.query(`REVOKE DELETE ON svc.inbox FROM ${role}`);
  assert.equal(await missing(), 'SELECT, INSERT, UPDATE and DELETE on the table svc.inbox');
  const refused = refusalOf(await look(own.href), where);
  assert.equal(refused?.code, 'storage_rights');
  assert.match(refused.message, /on the table svc\.inbox; have an administrator grant it\.$/);
  await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await admin.end();
});

ownPostgresTest(
  'a server that would lose what it acknowledged, or garble it, is refused',
  async () => {
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
    await using server = await PostgresServer.start({ settings, encoding: 'LATIN1' });
    const found = await look(server.url());
    assert.deepEqual(
      [found.fsync, found.synchronousCommit, found.fullPageWrites],
      [false, 'off', false],
    );
    assert.equal(found.encoding, 'LATIN1');
    assert.equal(refusalOf(found, where)?.code, 'storage_encoding');
    const refused = refusalOf(await look(await server.newDatabase()), where);
    assert.equal(refused?.code, 'storage_not_durable');
    assert.match(refused.message, /has fsync and synchronous_commit off/);
    assert.equal(refusalOf({ ...found, versionNumber: 130_004 }, where)?.code, 'storage_too_old');
    await server.stop();
    await assert.rejects(connect(server.url()), (error) => {
      return problemOf(error, where).code === 'storage_unreachable';
    });
    await server.restart();
    await server.kill();
    await server.restart();
    server.halt();
    const soonMs = 300;
    const connecting = connect(server.url(), { timeoutMs: soonMs });
    await assert.rejects(connecting, { code: 'SVC_TIMEOUT' });
    server.goOn();
    await look(server.url());
  },
);

test('each fault is a problem with a code, whether it passes, and what to do', () => {
  const faults: readonly (readonly [unknown, string, boolean])[] = [
    [{ code: 'ECONNREFUSED' }, 'storage_unreachable', true],
    [{ code: '57P03' }, 'storage_unreachable', true],
    [{ code: '53300' }, 'storage_unreachable', true],
    [{ code: 'SVC_STANDBY' }, 'storage_unreachable', true],
    [{ code: '28P01' }, 'storage_refused', false],
    [{ code: 'SVC_NO_PASSWORD' }, 'storage_refused', false],
    [{ code: '42501' }, 'storage_rights', false],
    [{ code: '3D000' }, 'storage_missing', false],
    [{ code: '53100' }, 'storage_full', true],
    [{ code: '22012' }, 'storage_locked', true],
    [{ code: 'SVC_NO_TLS' }, 'storage_tls', false],
    [{ code: 'CERT_HAS_EXPIRED' }, 'storage_tls', false],
    [{ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'storage_tls', false],
    [new ConnectError('28000', 'no pg_hba.conf entry, no encryption', 'h'), 'storage_tls', false],
    [new ConnectError('SVC_AUTHORITIES', 'it cannot be read', ''), 'storage_tls', false],
    [new ForeignSchema(''), 'storage_foreign', false],
    [new NewerSchema(''), 'storage_newer_schema', false],
    [new Error('odd'), 'storage_unusable', true],
  ];
  for (const [error, code, isPassing] of faults) {
    const problem = problemOf(error, where);
    assert.deepEqual([problem.code, problem.isPassing], [code, isPassing], problem.message);
    assert.match(problem.message, /^The database "svc" on db\.example:5432 .*[.]$/);
  }
  assert.match(
    lockedProblem(where, 'host box, process 7').message,
    /\(host box, process 7\)\. Stop/,
  );
});

test('no sentence has the URL or its password', async () => {
  const address = readAddress('postgres://ann:kqxpass@127.0.0.1:1/x?sslmode=require');
  assert.ok(address instanceof ServerAddress);
  await assert.rejects(connect(address), (error) => {
    const { message } = problemOf(error, String(address));
    assert.match(message, /^The database "x" on 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)/);
    assert.doesNotMatch(message + String(error), /kqx|postgres:/);
    return true;
  });
  await assert.rejects(connect('postgres://ann:kqx/pass@127.0.0.1:1/x'), (error) => {
    const problem = problemOf(error, where);
    assert.equal(problem.code, 'storage_url');
    assert.doesNotMatch(problem.message + String(error), /kqx|pass@/);
    return true;
  });
});
