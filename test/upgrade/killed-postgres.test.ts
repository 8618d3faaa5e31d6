/**
 * Ends before, within and after every step that upgrades a server's database of a former svc.
 * Before each statement the connection is lost, which is all that a server sees of a SIGKILL. Also,
 * a SIGKILL ends svc itself while the server runs a statement.
 */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { connect, cut } from '../../src/ledger/postgres/server/connect.ts';
import {
  migrate,
  migrationSteps,
  schemaState,
  schemaVersion,
} from '../../src/ledger/postgres/server/migrations.ts';
import { newDatabase, postgresTest } from '../fake/postgres.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases, type KeptRelease } from '../kept-releases/kept.ts';
import type { World } from '../kept-releases/world.ts';
import { until } from '../support/waiting.ts';

const newest = migrationSteps().length;

/** Comments stand on lines of their own, and no text has a semicolon at the end of a line. */
function statementsIn(text: string): readonly string[] {
  const code = text.replaceAll(/^\s*--.*$/gm, '');
  return code.split(/;\s*(?:\n|$)/).filter((one) => one.trim() !== '');
}

/**
 * Upgrades a database, and sends each step statement by statement.
 * @param last the statement before which the connection is lost; 0: all are sent
 * @returns the statements up to that one, and the attempts to roll back
 */
async function upgrade(url: string, last: number): Promise<readonly string[]> {
  const client = await connect(url);
  const asked: string[] = [];
  const ask = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<unknown>;
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    let answer: unknown;
    for (const one of statementsIn(text)) {
      if (asked.push(one.trim()) === last) cut(client);
      answer = await ask(one, values);
    }
    return answer;
  };
  const migrating = migrate(Object.assign(client, { query }));
  if (last === 0) {
    await migrating;
    await client.end();
  } else {
    await assert.rejects(migrating);
    // It sends only ROLLBACK, without success.
    assert.ok(asked.slice(last).every((text) => text === 'ROLLBACK'));
  }
  return asked;
}

/** Upgrades this database, and returns the statements of the upgrade. */
async function statementsOf(url: string): Promise<readonly string[]> {
  const asked = await upgrade(url, 0);
  assert.equal(asked.filter((text) => text.startsWith('BEGIN')).length, 1);
  assert.ok(asked.indexOf('COMMIT') === asked.length - 1 && asked.length > 12, asked.join('\n'));
  return asked;
}

type Opened = AsyncDisposable & { readonly client: Client };

async function open(url: string): Promise<Opened> {
  const client = await connect(url);
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

/** Reads every table with all of its rows, as the server returns them. */
async function everything(client: Client): Promise<readonly unknown[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('svc') " +
      "AND relkind = 'r' ORDER BY 1",
  );
  const found: unknown[] = [];
  for (const { name } of tables) {
    const text = `SELECT one::text AS row FROM svc."${name}" AS one ORDER BY 1`;
    found.push([name, (await client.query(text)).rows]);
  }
  return found;
}

const before = keptReleases().filter(({ expected }) => expected.schema.postgres < newest);

/** Starts svc on the database and asserts that all of its data is there. */
async function assertStarts(world: World, release: KeptRelease): Promise<void> {
  await using _program = await world.serveHere();
  await assertAllGoesOn(world, release.expected);
}

for (const release of before) {
  const { version, expected } = release;

  postgresTest(
    `ended at any statement of the upgrade from ${version}, nothing is done`,
    async () => {
      await using world = await release.open('postgres');
      const url = world.env['DATABASE_URL']!;
      const asked = await statementsOf(await release.load(world));
      await using opened = await open(url);
      const { client } = opened;
      const kept = await everything(client);
      for (let statement = 1; statement <= asked.length; statement++) {
        await upgrade(url, statement);
        // A lost connection holds no lock once the server has noticed the loss.
        await until('the server has seen it', async () => (await others(client)) === 0);
        assert.equal(await schemaVersion(client), expected.schema.postgres);
        assert.deepEqual(await everything(client), kept, `before ${asked[statement - 1]}`);
      }
    },
  );

  postgresTest(`ended right after the upgrade from ${version}, svc goes on`, async () => {
    await using world = await release.open('postgres');
    await upgrade(world.env['DATABASE_URL']!, 0);
    await assertStarts(world, release);
  });
}

postgresTest('svc itself is killed while the server works on a step', async () => {
  const [release] = keptReleases() as readonly [KeptRelease];
  await using world = await release.open('postgres');
  await using opened = await open(world.env['DATABASE_URL']!);
  const { client } = opened;
  const kept = await everything(client);
  // The second step makes an index here, late in its text, and waits for every writer.
  await client.query('BEGIN; LOCK TABLE svc.outbox IN ROW EXCLUSIVE MODE');
  {
    await using program = world.start();
    const waits = "SELECT FROM pg_locks WHERE relation = 'svc.outbox'::regclass AND NOT granted";
    await until('it waits', async () => (await client.query(waits)).rowCount === 1);
    program.child.kill('SIGKILL');
    assert.equal(await program.ended, 'SIGKILL');
  }
  await client.query('COMMIT');
  await until('the server has seen it', async () => (await others(client)) === 0);
  assert.equal(await schemaVersion(client), release.expected.schema.postgres);
  assert.deepEqual(await everything(client), kept);
  await assertStarts(world, release);
  assert.equal(await schemaVersion(client), newest);
});

/** Returns the number of other connections to the database. */
async function others(client: Client): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() ' +
      "AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
  );
  return rows[0]!.n;
}

postgresTest(
  'ended at any statement of a first start, nothing is there, and one starts',
  async () => {
    const url = await newDatabase();
    const asked = await statementsOf(await newDatabase());
    await using opened = await open(url);
    const { client } = opened;
    // Every third one, because there are many.
    for (let statement = 1; statement < asked.length; statement += 3) {
      await upgrade(url, statement);
      await until('the server has seen it', async () => (await others(client)) === 0);
      assert.deepEqual(await schemaState(client), { kind: 'none' }, `statement ${statement}`);
    }
    await statementsOf(url);
    assert.equal(await schemaVersion(client), newest);
  },
);
