/** The cage of read_file, attacked through the calls of a model of the running program. */
import assert from 'node:assert/strict';
import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startAgentProgram } from './program.ts';
import { scratch, secret } from '../support/program.ts';
import { attacksOn, bait, buildWorld, bytesMax, canary } from './read-file-attacks.ts';

test('no call of a model reads beyond the folder, and nothing beyond is ever seen', async () => {
  await using folder = await scratch();
  await using world = await buildWorld(folder.path);
  const agent = { tools: ['read_file'], read_file: { root: world.link, max_bytes: bytesMax } };
  await using program = await startAgentProgram(agent);
  const attacks = attacksOn(world);
  assert.ok(attacks.length >= 100);
  for (const { name, arguments: given, told } of attacks) {
    assert.match(await program.call('read_file', given), told, name);
  }
  const everything = await program.everything();
  for (const [where, text] of Object.entries(everything)) {
    for (const hidden of [canary, secret]) {
      assert.ok(!text.includes(hidden), `${hidden} is in ${where}`);
    }
  }
  const stored = `${everything['svc.db']}${everything['svc.db-wal']}`;
  for (const text of [everything['requests']!, everything['replies']!, stored]) {
    assert.ok(text.includes(bait), 'what is inside is seen where it belongs');
  }
  assert.ok(!everything['log']!.includes(bait), 'the log holds no text');
});

test('a root that leads elsewhere than at the start is not followed', async () => {
  await using folder = await scratch();
  await using world = await buildWorld(folder.path);
  const agent = { tools: ['read_file'], read_file: { root: world.root } };
  await using program = await startAgentProgram(agent);
  assert.equal(await program.call('read_file', { path: 'notes.txt' }), bait);
  renameSync(world.root, join(folder.path, 'old'));
  symlinkSync(world.outside, world.root);
  for (const path of ['canary.txt', join(world.outside, 'canary.txt')]) {
    assert.match(await program.call('read_file', { path }), /not the one that it was/);
  }
  for (const [where, text] of Object.entries(await program.everything())) {
    assert.ok(!text.includes(canary), where);
  }
});
