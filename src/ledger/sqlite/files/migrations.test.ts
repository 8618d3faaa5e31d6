/** Databases of an older schema: an upgrade converts all of it, or leaves all of it as before. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { digestOf, fillFormer, makeFormer } from '../../../../test/upgrade/former-database.ts';
import { newIds } from '../../../../test/contract/ledger/kit.ts';
import { writeHere } from '../../../../test/fake/writer-here.ts';
import { systemClock } from '../../../lib/clock.ts';
import { openSqliteLedger, type SqliteOptions } from '../sqlite.ts';
import { migrationFiles, type Upgrade } from './migrations.ts';
import { fileURLToPath } from 'node:url';

const former = 6;
const rows = 2_000;
const tables = {
  inbox: ['seq', 'id', 'conversation', 'body', 'state'],
  outbox: ['seq', 'id', 'message_id', 'conversation', 'body', 'state'],
  turns: 'channel conversation session seq at sender private left_out text reply'.split(' '),
  conversation_counts: ['channel', 'conversations', 'turns', 'last_at'],
  traces: ['message_id', 'body'],
};

/** A database of that version with some rows of every kind, and a place for copies of it. */
function stage(t: TestContext): { readonly full: string; readonly copy: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-upgrade-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const full = join(folder, 'full.db');
  const db = makeFormer(full, former);
  fillFormer(db, rows);
  db.close();
  let copies = 0;
  const copy = (): string => {
    const path = join(folder, `${++copies}.db`);
    copyFileSync(full, path);
    return path;
  };
  return { full, copy };
}

type Inspection = {
  readonly version: number;
  readonly sound: string;
  readonly rows: readonly string[];
};

function inspect(path: string): Inspection {
  using db = new DatabaseSync(path);
  return {
    version: Number(db.prepare('PRAGMA user_version').get()!['user_version']),
    sound: String(db.prepare('PRAGMA integrity_check').get()!['integrity_check']),
    rows: Object.entries(tables).map(([table, columns]) => digestOf(db, table, columns)),
  };
}

async function open(path: string, more: Partial<SqliteOptions> = {}) {
  const base = { path, ...systemClock, ids: newIds(), retentionDays: 0, startWriter: writeHere };
  return openSqliteLedger({ ...base, ...more });
}

test('an upgrade that is killed at any point is whole, or has not been', async (t) => {
  const { full, copy } = stage(t);
  const before = inspect(full);
  const program = fileURLToPath(
    new URL('../../../../test/fixtures/killed-upgrade.ts', import.meta.url),
  );
  const upgrade = (path: string, last: number) =>
    spawnSync(process.execPath, [program, path, String(last)], { encoding: 'utf8' });
  const whole = upgrade(copy(), 0);
  const { length: questions } = JSON.parse(whole.stdout) as readonly string[];
  assert.ok(questions > 50, whole.stderr);
  const kills = 8;
  const path = copy();
  for (let kill = 1; kill <= kills; kill++) {
    const last = Math.floor((kill * questions) / kills);
    assert.equal(upgrade(path, last).signal, 'SIGKILL');
    const { version, ...rest } = inspect(path);
    // Each step is a transaction of its own.
    assert.ok(version >= former && version <= migrationFiles().length, `version ${version}`);
    assert.deepEqual(rest, { sound: 'ok', rows: before.rows }, `killed at question ${last}`);
    if (version > former) copyFileSync(full, path);
  }
  const ledger = await open(path);
  assert.ok(!('kind' in ledger), 'the service starts on it');
  await ledger[Symbol.asyncDispose]();
  assert.deepEqual(inspect(path), { ...before, version: migrationFiles().length });
});

test('an upgrade that finds no room says so, and leaves the database as it was', async (t) => {
  const { full, copy } = stage(t);
  const path = copy();
  const before = inspect(full);
  using db = new DatabaseSync(path);
  const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
  db.close();
  const upgrades: Upgrade[] = [];
  const news = { storageUpgrading: (upgrade: Upgrade): number => upgrades.push(upgrade) };
  const problem = await open(path, { news, limits: { pagesMax: pages + 20 } });
  assert.ok('kind' in problem);
  assert.equal(problem.code, 'storage_full');
  assert.match(problem.message, /stands on a full disk; make room/);
  assert.deepEqual(inspect(path), before);
  const ledger = await open(path, { news });
  assert.ok(!('kind' in ledger));
  await ledger[Symbol.asyncDispose]();
  assert.deepEqual(inspect(path), { ...before, version: migrationFiles().length });
  const upgrade = { from: former, to: migrationFiles().length };
  assert.deepEqual(
    upgrades.map(({ from, to }) => ({ from, to })),
    [upgrade, upgrade],
    'once each time, and not for a database that is new or current',
  );
});
