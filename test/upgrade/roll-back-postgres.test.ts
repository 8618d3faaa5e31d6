/**
 * Back to the release before, on a server: it runs on the tables of the next release, but not on
 * those of the release after that. kept-releases-postgres.test.ts tests the earlier backup, and
 * former-release-postgres.test.ts the way back to the release that uses a database alone.
 */
import assert from 'node:assert/strict';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import {
  migrate,
  migrationSteps,
  schemaVersion,
} from '../../src/ledger/postgres/server/migrations.ts';
import { programVersion } from '../../src/lib/program.ts';
import { postgresTest } from '../fake/postgres.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases, type KeptRelease } from '../kept-releases/kept.ts';
import type { World } from '../kept-releases/world.ts';

const present = keptReleases().find(({ version }) => version === programVersion()) as KeptRelease;
const known = migrationSteps();
/** Steps of later releases: each one adds. */
const later = [
  'ALTER TABLE svc.inbox ADD COLUMN of_next boolean NOT NULL DEFAULT false',
  'CREATE TABLE svc.of_the_one_after (id text PRIMARY KEY)',
];

/** Upgrades the database as later releases do. @returns the schema's version */
async function upgradeToLater(world: World, steps: number): Promise<number> {
  const client = await connect(world.env['DATABASE_URL']!);
  await migrate(client, undefined, [...known, ...later.slice(0, steps)]);
  const version = await schemaVersion(client);
  await client.end();
  return version;
}

postgresTest('rolled back by one release, svc serves on the tables of the next one', async () => {
  await using world = await present.open('postgres');
  assert.equal(await upgradeToLater(world, 1), known.length + 1);
  await using program = await world.serveHere();
  await assertAllGoesOn(world, present.expected);
  assert.equal(await program.stop(), 0);
  assert.equal(await upgradeToLater(world, 1), known.length + 1, 'it stays what it is');
});

postgresTest(
  'the tables of the release after the next one are refused, and left alone',
  async () => {
    await using world = await present.open('postgres');
    assert.equal(await upgradeToLater(world, 2), known.length + 2);
    const { code, log } = await world.refused();
    assert.equal(code, 78, log);
    assert.match(log, /storage_newer_schema/);
    const sentence =
      /The database \\?"\w+\\?" on \S+ was written by a newer svc; run that one, or a newer one\./;
    assert.match(log, sentence);
    const asked = await world.svc('messages');
    assert.equal(asked.code, 1);
    assert.match(asked.err, sentence);
    assert.equal(await upgradeToLater(world, 2), known.length + 2, 'it stays what it is');
  },
);
