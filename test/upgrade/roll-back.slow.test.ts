/**
 * Back to the release before, on a file: it refuses the file of a newer release and says so. It
 * runs on the backup made before the upgrade.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { programVersion } from '../../src/lib/program.ts';
import { migrationFiles } from '../../src/ledger/sqlite/files/migrations.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases, type KeptRelease } from '../kept-releases/kept.ts';

/** The present code is the older release here: a newer one left a step that it does not know. */
const newer = migrationFiles().length + 1;
const present = keptReleases().find(({ version }) => version === programVersion()) as KeptRelease;
const oldest = keptReleases()[0] as KeptRelease;

function upgradeToNewer(path: string): void {
  using db = new DatabaseSync(path);
  db.exec(`
    BEGIN;
    ALTER TABLE inbox ADD COLUMN of_newer TEXT;
    PRAGMA user_version = ${newer};
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE)`);
}

const digest = (path: string): string => hash('sha256', readFileSync(path), 'hex');

test('what a newer svc wrote is refused with a sentence, and left as it is', async () => {
  await using world = await present.open('sqlite');
  upgradeToNewer(world.database);
  const before = digest(world.database);
  const what = 'was written by a newer svc; run that one, or a newer one.';
  const sentence = `The database ${world.database} ${what}`;
  const { code, log } = await world.refused();
  assert.equal(code, 78, log);
  assert.ok(log.includes('storage_newer') && log.includes(sentence), log);
  for (const command of [['messages'], ['dead-letters', 'list']]) {
    const asked = await world.svc(...command);
    assert.equal(asked.code, 1, command.join(' '));
    assert.ok(asked.err.includes(sentence), asked.err);
  }
  assert.equal(digest(world.database), before);
});

test('the backup that was made before the upgrade serves on the older one', async () => {
  await using world = await present.open('sqlite');
  const backup = join(world.folder, 'before.db');
  const made = await world.svc('backup', backup);
  assert.equal(made.code, 0, made.err);
  upgradeToNewer(world.database);
  await assert.rejects(world.serveHere(), /storage_newer/);
  for (const end of ['', '-wal', '-shm']) rmSync(world.database + end, { force: true });
  copyFileSync(backup, world.database);
  await using _program = await world.serveHere();
  await assertAllGoesOn(world, present.expected);
});

test('svc copies a file of any release as it is, before it has brought it up to date', async () => {
  await using world = await oldest.open('sqlite');
  const backup = join(world.folder, 'before.db');
  const made = await world.svc('backup', backup);
  assert.equal(made.code, 0, made.err);
  assert.equal(schemaOf(backup), oldest.expected.schema.sqlite, 'the older release runs on it');
  const asked = await world.svc('messages');
  assert.equal(asked.code, 1);
  const sentence =
    `The database ${world.database} was written by an older svc. ` +
    'Run this one on it once, then ask again.';
  assert.ok(asked.err.includes(sentence), asked.err);
  {
    await using _program = await world.serveHere();
  }
  assert.equal(schemaOf(world.database), migrationFiles().length);
  copyFileSync(backup, world.database);
  await using _program = await world.serveHere();
  await assertAllGoesOn(world, oldest.expected);
});

function schemaOf(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true });
  return Number(db.prepare('PRAGMA user_version').get()!['user_version']);
}
