/** Kills the program while it upgrades the database of an older svc. */
import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { migrationFiles } from '../../src/ledger/sqlite/files/migrations.ts';
import { digestOf, fillFormer, makeFormer } from '../upgrade/former-database.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { World } from './world.ts';

/** The last version that stored turns by conversation, and not in the order of their writing. */
const former = 6;
const turnColumns = ['channel', 'conversation', 'session', 'seq', 'at', 'sender', 'text', 'reply'];

export const upgrade: Proof = {
  name: 'upgrade',
  title:
    'SIGKILL while a database of an older svc is brought up to date: it is sound, every row is ' +
    'there, and the next start goes on',
  unit: 'kills',
  sizes: { change: 12, nightly: 200 },
  run: (count, seed, say) => killUpgrades(count, 500 * count, seed, say),
};

/** @param rows the number of messages, of replies and of turns in the database */
export async function killUpgrades(
  count: number,
  rows: number,
  seed: number,
  say: (line: string) => void,
) {
  const random = seeded(seed);
  await using world = await World.open(random);
  const { database } = world;
  const full = `${world.folder}/full.db`;
  {
    using db = makeFormer(full, former);
    fillFormer(db, rows);
  }
  const expected = look(full);
  const put = (): void => {
    for (const end of ['-wal', '-shm']) rmSync(database + end, { force: true });
    copyFileSync(full, database);
  };
  put();
  const tookMs = await upgradeOnce(world);
  put();
  const figures = { rows, 'killed before its commit': 0, 'killed after it': 0 };
  for (let kill = 1; kill <= count; kill++) {
    await using program = world.spawn();
    await program.saw('storage_upgrading');
    await pause(random() * tookMs);
    program.child.kill('SIGKILL');
    await program.ended;
    const { version, ...left } = look(database);
    assert.deepEqual(left, { sound: 'ok', turns: expected.turns });
    figures[version === former ? 'killed before its commit' : 'killed after it']++;
    // The next start continues after a kill, until the upgrade is complete.
    if (version !== former) put();
    if (kill % 10 === 0) say(`${kill} kills`);
  }
  await upgradeOnce(world);
  assert.deepEqual(look(database), { ...expected, version: migrationFiles().length });
  return { kind: 'proved' as const, figures };
}

/**
 * Starts the program, and stops it as asked once it listens.
 * @returns milliseconds from its log line about the upgrade until it listens
 */
async function upgradeOnce(world: World): Promise<number> {
  await using program = world.spawn();
  await program.saw('storage_upgrading');
  const begunAt = performance.now();
  await program.saw('"listening"');
  const tookMs = performance.now() - begunAt;
  await stopAsAsked(program);
  return tookMs;
}

/** The cleanup may remove messages and replies meanwhile; turns stay until they are forgotten. */
function look(path: string) {
  using db = new DatabaseSync(path, { readOnly: true });
  return {
    version: Number(db.prepare('PRAGMA user_version').get()?.['user_version']),
    sound: String(db.prepare('PRAGMA integrity_check').get()?.['integrity_check']),
    turns: digestOf(db, 'turns', turnColumns),
  };
}
