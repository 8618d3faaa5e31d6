/** The cage of read_file, attacked through the calls of a model of the running program. */
import assert from 'node:assert/strict';
import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startAgentProgram } from './agent-program.ts';
import { scratch } from './program.ts';
import { attacksOn, bait, buildWorld, bytesMax, canary } from './read-file-attacks.ts';

test('no call of a model reads beyond the folder, and nothing beyond is ever seen', async () => {
  await using folder = await scratch();
  await using world = await buildWorld(folder.path);
  const agent = { tools: ['read_file'], read_file: { root: world.link, max_bytes: bytesMax } };
  await using program = await startAgentProgram(agent, { CANARY: canary });
  const attacks = attacksOn(world);
  assert.ok(attacks.length >= 100);
  for (const { name, arguments: given, told } of attacks) {
    assert.match(await program.call('read_file', given), told, name);
  }
  const everything = await program.everything();
  for (const [where, text] of Object.entries(everything)) {
    assert.ok(!text.includes(canary), `the canary is in ${where}`);
  }
  for (const where of ['requests', 'replies', 'svc.db'] as const) {
    assert.ok(everything[where]!.includes(bait), `what is inside is seen in ${where}`);
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
  assert.match(await program.call('read_file', { path: 'canary.txt' }), /not the one that it was/);
  assert.match(
    await program.call('read_file', { path: join(world.outside, 'canary.txt') }),
    /not the one that it was/,
  );
  for (const [where, text] of Object.entries(await program.everything())) {
    assert.ok(!text.includes(canary), where);
  }
});
