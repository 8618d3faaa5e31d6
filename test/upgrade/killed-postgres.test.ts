/**
 * SIGKILL before, within and after every step by which a server's database of a former svc is
 * brought up to date: before each statement, and while the server works on one.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { Client } from 'pg';
import { connect } from '../../src/store/postgres/server/connect.ts';
import {
  migrationSteps,
  schemaState,
  schemaVersion,
} from '../../src/store/postgres/server/migrations.ts';
import { newDatabase, postgresTest } from '../fake/postgres.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases, type KeptRelease } from '../kept-releases/kept.ts';
import type { World } from '../kept-releases/world.ts';
import { until } from '../support/waiting.ts';

const newest = migrationSteps().length;
const killed = new URL('../fixtures/killed-upgrade-postgres.ts', import.meta.url).pathname;

/** @param last the statement that is not sent; 0: each is */
function upgrade(url: string, last: number) {
  return spawnSync(process.execPath, [killed, url, String(last)], { encoding: 'utf8' });
}

/** What the upgrade of this database sends, which it does. */
function statementsOf(url: string): readonly string[] {
  const whole = upgrade(url, 0);
  assert.equal(whole.status, 0, whole.stderr);
  const asked = JSON.parse(whole.stdout) as readonly string[];
  assert.equal(asked.filter((text) => text.startsWith('BEGIN')).length, 1);
  assert.ok(asked.indexOf('COMMIT') === asked.length - 2 && asked.length > 12, asked.join('\n'));
  return asked;
}

type Opened = AsyncDisposable & { readonly client: Client };

async function open(url: string): Promise<Opened> {
  const client = await connect(url);
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

/** Every table with all of its rows, as the server tells them. */
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

/** Starts svc on it, which finds everything. */
async function assertStarts(world: World, release: KeptRelease): Promise<void> {
  await using _program = await world.serveHere();
  await assertAllGoesOn(world, release.expected);
}

/** A copy of its database for a world of its own, in which the upgrade was killed there. */
async function killedAt(release: KeptRelease, statement: number): Promise<World> {
  const world = await release.open('postgres');
  const { signal } = upgrade(world.env['DATABASE_URL']!, statement);
  assert.equal(signal, 'SIGKILL', `statement ${statement}`);
  return world;
}

for (const release of before) {
  const { version, expected } = release;

  postgresTest(
    `killed at any statement of the upgrade from ${version}, nothing is done`,
    async () => {
      await using world = await release.open('postgres');
      const url = world.env['DATABASE_URL']!;
      const asked = statementsOf(await release.load(world));
      await using opened = await open(url);
      const { client } = opened;
      const kept = await everything(client);
      for (let statement = 1; statement < asked.length; statement++) {
        assert.equal(upgrade(url, statement).signal, 'SIGKILL');
        // A connection whose process is gone holds nothing any more once the server has seen it.
        await until('the server has seen it', async () => (await others(client)) === 0);
        assert.equal(await schemaVersion(client), expected.schema.postgres);
        assert.deepEqual(await everything(client), kept, `before ${asked[statement - 1]}`);
      }
      await assertStarts(world, release);
      assert.equal(await schemaVersion(client), newest);
    },
  );

  postgresTest(`killed in the upgrade from ${version}, svc starts and goes on`, async () => {
    await using world = await release.open('postgres');
    const asked = statementsOf(world.env['DATABASE_URL']!);
    const lock = asked.findIndex((text) => text.startsWith('LOCK TABLE')) + 1;
    const places = [
      asked.findIndex((text) => text.startsWith('BEGIN')) + 1,
      lock + 1,
      Math.floor((lock + asked.length) / 2),
      asked.indexOf('COMMIT') + 1,
      asked.indexOf('end') + 1,
    ];
    assert.equal(new Set(places).size, places.length);
    const worlds = await Promise.all(places.map((place) => killedAt(release, place)));
    await Promise.all(
      worlds.map(async (one) => {
        await using own = one;
        await assertStarts(own, release);
      }),
    );
  });
}

postgresTest('svc itself is killed while the server works on a step', async () => {
  const [release] = keptReleases() as readonly [KeptRelease];
  await using world = await release.open('postgres');
  await using opened = await open(world.env['DATABASE_URL']!);
  const { client } = opened;
  const kept = await everything(client);
  // The second step makes an index here, late in its text: it waits for whoever writes.
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

/** How many are connected to its database besides this one. */
async function others(client: Client): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() ' +
      "AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
  );
  return rows[0]!.n;
}

postgresTest(
  'killed at any statement of a first start, nothing is there, and one starts',
  async () => {
    const url = await newDatabase();
    const asked = statementsOf(await newDatabase());
    await using opened = await open(url);
    const { client } = opened;
    // Every third: there are many.
    for (let statement = 1; statement < asked.length; statement += 3) {
      assert.equal(upgrade(url, statement).signal, 'SIGKILL');
      await until('the server has seen it', async () => (await others(client)) === 0);
      assert.deepEqual(await schemaState(client), { kind: 'none' }, `statement ${statement}`);
    }
    statementsOf(url);
    assert.equal(await schemaVersion(client), newest);
  },
);
