/**
 * The schema: made once by the first instance, whole or not at all, and never over another
 * program's.
 */
import assert from 'node:assert/strict';
import { newDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import { connect, cut } from './connect.ts';
import { ForeignSchema, migrate, migrationSteps, NewerSchema, type Upgrade } from './migrations.ts';

const steps = migrationSteps();
/** Steps that come after this program's. */
const later = [1, 2, 3].map((n) => `CREATE TABLE svc.later_${n} (n integer)`);

async function version(url: string): Promise<unknown> {
  const client = await connect(url);
  const { rows } = await client.query('SELECT version FROM svc.schema');
  await client.end();
  return rows.map((row) => row['version']);
}

postgresTest('several that start at once make the schema once', async () => {
  const url = await newDatabase();
  const database = new URL(url).pathname.slice(1);
  const first = await connect(url);
  await first.query(
    `ALTER DATABASE ${database} SET default_transaction_isolation = 'repeatable read'`,
  );
  await first.end();
  const clients = await Promise.all(Array.from({ length: 5 }, () => connect(url)));
  const upgrades: Upgrade[] = [];
  const done = clients.map((client) => migrate(client, (one) => upgrades.push(one)));
  assert.deepEqual(new Set(await Promise.all(done)), new Set([steps.length]));
  assert.deepEqual(upgrades, [], 'a new database is no upgrade');
  assert.deepEqual(await version(url), [steps.length]);
  await Promise.all(clients.map((client) => client.end()));
});

postgresTest('an upgrade is told of, and keeps what is there', async () => {
  const url = await newDatabase();
  const client = await connect(url);
  await migrate(client);
  await client.query("INSERT INTO svc.lane (channel, conversation) VALUES ('c', 'k')");
  const upgrades: Upgrade[] = [];
  const next = [...steps, ...later];
  const told = { from: steps.length, to: next.length };
  assert.equal(await migrate(client, (one) => upgrades.push(one), next), next.length);
  assert.equal(await migrate(client, (one) => upgrades.push(one), next), next.length);
  assert.deepEqual(upgrades, [told], 'once, and not for one that is current');
  assert.equal((await client.query('SELECT * FROM svc.lane')).rowCount, 1);
  await client.end();
});

postgresTest('a program runs on the next schema, and not on the one after', async () => {
  const url = await newDatabase();
  const client = await connect(url);
  await migrate(client, undefined, [...steps, ...later.slice(0, 1)]);
  assert.equal(await migrate(client), steps.length + 1);
  assert.deepEqual(await version(url), [steps.length + 1], 'it stays what it is');
  await migrate(client, undefined, [...steps, ...later.slice(0, 2)]);
  await assert.rejects(migrate(client), NewerSchema);
  assert.deepEqual(await version(url), [steps.length + 2]);
  await client.end();
});

postgresTest('an upgrade that breaks off at any step leaves what was there', async () => {
  const url = await newDatabase();
  const watch = await connect(url);
  await migrate(watch);
  const tables = async (): Promise<unknown> =>
    (await watch.query("SELECT relname FROM pg_class WHERE relname LIKE 'later%'")).rows;
  const failing = [...steps, ...later, 'SELECT 1 / 0'];
  await assert.rejects(migrate(watch, undefined, failing), { code: '22012' });
  assert.deepEqual(await tables(), []);
  for (let whole = 1; whole <= later.length; whole++) {
    const client = await connect(url);
    // The connection is lost while a step waits, as in a kill.
    const waiting = [...steps, ...later.slice(0, whole), 'SELECT pg_sleep(600)'];
    const ended = assert.rejects(migrate(client, undefined, waiting));
    const asleep =
      "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)' AND pid = $1";
    const pid = (client as unknown as { processID: number }).processID;
    while ((await watch.query(asleep, [pid])).rowCount === 0);
    cut(client);
    await ended;
    // The server notices when it next checks that connection.
    await watch.query('SELECT pg_terminate_backend($1, 60000)', [pid]);
    assert.deepEqual(await tables(), []);
    assert.deepEqual(await version(url), [steps.length]);
  }
  assert.equal(await migrate(watch, undefined, [...steps, ...later]), steps.length + later.length);
  await watch.end();
});

postgresTest('a schema svc of another program is left alone', async () => {
  for (const table of ['orders (id integer)', 'schema (version text)']) {
    const client = await connect(await newDatabase());
    await client.query('CREATE SCHEMA svc');
    await client.query(`CREATE TABLE svc.${table}`);
    await assert.rejects(migrate(client), ForeignSchema);
    const tables = "SELECT relname FROM pg_class WHERE relnamespace = 'svc'::regnamespace";
    assert.equal((await client.query(`${tables} AND relkind = 'r'`)).rowCount, 1);
    await client.end();
  }
});

postgresTest('who may make no schema uses one that was made for it', async () => {
  const url = await newDatabase();
  const admin = await connect(url);
  const role = `role_${new URL(url).pathname.slice(1)}`;
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
  const own = new URL(url);
  own.username = role;
  own.password = 'p';
  const client = await connect(own.href);
  await assert.rejects(migrate(client), { code: '42501' });
  await admin.query(`CREATE SCHEMA svc; GRANT ALL ON SCHEMA svc TO ${role}`);
  assert.equal(await migrate(client), steps.length);
  await admin.query(`REVOKE CREATE ON SCHEMA svc FROM ${role}`);
  assert.equal(await migrate(client), steps.length, 'a schema that is there needs no right');
  await client.end();
  await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await admin.end();
});
