/**
 * SIGKILL before, within and after every step that upgrades a file of a former svc. The place of a
 * kill does not depend on time: SQLite asks before each action, and each run leaves another
 * question without an answer.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { migrationFiles } from '../../src/ledger/sqlite/files/migrations.ts';
import { digestOf, takeBack } from './former-database.ts';
import { scratch } from '../support/program.ts';
import { assertAllGoesOn, assertArrived } from '../kept-releases/found.ts';
import { keptReleases, type KeptRelease } from '../kept-releases/kept.ts';
import { fileURLToPath } from 'node:url';

const newest = migrationFiles().length;
const program = fileURLToPath(new URL('../fixtures/killed-upgrade.ts', import.meta.url));

/** A place where an upgrade is killed, and the database's version at that place. */
type Place = { readonly name: string; readonly question: number; readonly version: number };

/** @param last the question without an answer; 0: each is answered */
function upgrade(path: string, last: number) {
  return spawnSync(process.execPath, [program, path, String(last)], { encoding: 'utf8' });
}

/** Returns the places of an upgrade from this version. @param path of a database to upgrade */
function placesOf(path: string, from: number): readonly Place[] {
  const whole = upgrade(path, 0);
  assert.equal(whole.status, 0, whole.stderr);
  const asked = JSON.parse(whole.stdout) as readonly string[];
  const begins = asked.flatMap((what, at) => (what === 'BEGIN' ? [at + 1] : []));
  assert.equal(begins.length, newest - from, 'a transaction each step');
  return begins.flatMap((begin, index): readonly Place[] => {
    const [before, after] = [from + index, from + index + 1];
    const marked = asked.indexOf(`user_version ${after}`) + 1;
    const commit = asked.indexOf('COMMIT', begin) + 1;
    assert.ok(begin < marked && marked < commit && commit < asked.length);
    return [
      { name: 'before it', question: begin, version: before },
      { name: 'at its first statement', question: begin + 1, version: before },
      { name: 'in its midst', question: Math.floor((begin + marked) / 2), version: before },
      { name: 'before it is marked', question: marked, version: before },
      { name: 'before its commit', question: commit, version: before },
      { name: 'after its commit', question: commit + 1, version: after },
    ].map((place) => ({ ...place, name: `${place.name} (step ${after})` }));
  });
}

function versionOf(path: string): number {
  using db = new DatabaseSync(path);
  assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
  return Number(db.prepare('PRAGMA user_version').get()!['user_version']);
}

/** Tables with their columns. */
type Tables = ReadonlyMap<string, readonly string[]>;

function tablesOf(path: string): Tables {
  using db = new DatabaseSync(path);
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)');
  const of = (table: string): readonly string[] =>
    columns.all(table).map((one) => String(one['name']));
  return new Map(names.map(({ name }) => [String(name), of(String(name))]));
}

/** Leaves out the notes of the steps for svc itself: they are rolled back with the connection. */
function rowsOf(path: string, tables: Tables): readonly string[] {
  using db = new DatabaseSync(path);
  db.exec("BEGIN; DELETE FROM cursors WHERE channel = 'svc'");
  return Array.from(tables, ([table, columns]) => `${table}: ${digestOf(db, table, columns)}`);
}

async function assertGoesOnAfterKills(release: KeptRelease): Promise<void> {
  const { schema } = release.expected;
  const kept = join(release.folder, 'svc.db');
  await using folder = await scratch();
  const path = join(folder.path, 'svc.db');
  copyFileSync(kept, path);
  const killed = placesOf(path, schema.sqlite).map(async ({ name, question, version }) => {
    await using world = await release.open('sqlite');
    assert.equal(upgrade(world.database, question).signal, 'SIGKILL', name);
    assert.equal(versionOf(world.database), version, name);
    await using _program = await world.serveHere();
    await assertAllGoesOn(world, release.expected);
  });
  await Promise.all(killed);
}

const before = keptReleases().filter(({ expected }) => expected.schema.sqlite < newest);

for (const release of before) {
  test(`killed anywhere in the upgrade from ${release.version}, svc starts and goes on`, () => {
    return assertGoesOnAfterKills(release);
  });
}

test('killed in any step there ever was, the file is as before that step or after it', async () => {
  const [release] = keptReleases() as readonly [KeptRelease];
  await using folder = await scratch();
  const former = join(folder.path, 'former.db');
  copyFileSync(join(release.folder, 'svc.db'), former);
  takeBack(former, 1);
  const tables = tablesOf(former);
  const rows = rowsOf(former, tables);
  assert.ok(rows.length > 4 && rows.some((row) => /^turns: \d+ rows/.test(row)));
  const whole = join(folder.path, 'whole.db');
  copyFileSync(former, whole);
  const places = placesOf(whole, 1);
  assert.deepEqual(rowsOf(whole, tables), rows);
  assert.equal(places.length, 6 * (newest - 1));
  for (const { name, question, version } of places) {
    const path = join(folder.path, `${question}.db`);
    copyFileSync(former, path);
    assert.equal(upgrade(path, question).signal, 'SIGKILL', name);
    assert.equal(versionOf(path), version, name);
    assert.deepEqual(rowsOf(path, tables), rows, name);
    assert.equal(upgrade(path, 0).status, 0, name);
    assert.equal(versionOf(path), newest, name);
    assert.deepEqual(rowsOf(path, tables), rows, name);
  }
  // svc also goes on with the unfinished messages.
  await using world = await release.open('sqlite');
  copyFileSync(former, world.database);
  const { question } = places[Math.floor(places.length / 2)]!;
  assert.equal(upgrade(world.database, question).signal, 'SIGKILL');
  await using _program = await world.serveHere();
  await assertArrived(world, release.expected);
});
