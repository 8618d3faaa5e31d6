/** examples/discord.json runs unchanged, except for the addresses of this test's machine. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startServe } from '../support/in-process.ts';
import { scratch, writeConfig } from '../support/program.ts';

type Example = {
  channels: { base_url?: string }[];
  brains: { models: { base_url?: string }[] }[];
  observability?: unknown;
};

test('examples/discord.json boots, hears and answers, and only whom it lists', async () => {
  await using scene = await scratch();
  await using local = await startFakeOllama({ answer: 'four' });
  await using discord = await startFakeDiscord();
  const source = join(import.meta.dirname, '../../examples', 'discord.json');
  const example = JSON.parse(readFileSync(source, 'utf8')) as Example;
  example.channels[0]!.base_url = discord.url;
  example.brains[0]!.models[0]!.base_url = local.url;
  example.observability = { enabled: false };
  const file = await writeConfig(scene.path, example);
  await using program = startServe(file, { DISCORD_TOKEN: discord.token });
  await program.saw('messenger_b is up');
  discord.say(discord.direct(discord.user('Bo')), 'let me in');
  const ada = { ...discord.user('Ada'), id: '80351110224678912' };
  discord.say(discord.direct(ada), 'What is two and two?');
  const [reply] = await discord.waitForSent(1);
  assert.equal(reply!.content, 'four');
  assert.equal(local.calls.length, 1);
  assert.ok(!program.log().includes(discord.token));
  assert.equal(await program.stop(), 0);
});
