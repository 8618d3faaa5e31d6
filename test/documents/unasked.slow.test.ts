/** The commands for `svc init` without questions let people in while svc runs. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, scratch } from '../support/program.ts';
import { blocksOf, textOf } from './blocks.ts';

/** The page's arguments of `svc init --yes`, and the variables exported before. */
function unaskedOn(page: string): { args: readonly string[]; exported: readonly string[] } {
  const found = blocksOf(textOf(page)).filter(({ text }) => /^svc init --yes/m.test(text));
  assert.equal(found.length, 1, page);
  const [before = '', line = ''] = found[0]!.text.split(/^svc (?=init --yes)/m);
  const exported = Array.from(before.matchAll(/export (\w+)=/g), ([, name]) => name!);
  return { args: line.trim().split(' '), exported };
}

type Platform = {
  readonly url: string;
  /** The variable of the bot's token, and its value. */
  readonly token: readonly [name: string, value: string];
  /** Sends a stranger's message to the bot. */
  readonly writeAsStranger: () => Promise<void>;
  /** Returns the bot's first message. */
  readonly first: () => Promise<string>;
};

async function letInOn(
  page: string,
  { url, token, writeAsStranger, first }: Platform,
): Promise<void> {
  await using folder = await scratch();
  const { args, exported } = unaskedOn(page);
  const own = exported.map((name) => [name, `a-secret-of-the-test-for-${name}`] as const);
  const env = { HOME: folder.path, ...Object.fromEntries([...own, token]) };
  const around = { cwd: folder.path, env };
  const made = await runCommand([...args, '--channel-url', url], around);
  assert.equal(made.code, 0, made.err);
  const file = join(folder.path, 'svc.json');
  const document = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  const observability = { addr: `127.0.0.1:${await freePort()}` };
  await writeFile(file, JSON.stringify({ ...document, observability }));
  await using service = startServe(file, env);
  await service.saw('"listening"');
  await writeAsStranger();
  const code = /: (\S+)\. /.exec(await first())![1]!;
  const paired = await runCommand(['pair', code], around);
  assert.deepEqual([paired.code, paired.err], [0, '']);
  assert.match(paired.out, /^Ada .* may talk on /);
  assert.equal(await service.stop(), 0);
}

test('on Telegram, as the page says', async () => {
  await using telegram = await startFakeTelegram();
  const chat = telegram.privateChat(telegram.person('Ada'));
  await letInOn('docs/get-started/telegram.md', {
    url: telegram.url,
    token: ['TELEGRAM_TOKEN', telegram.token],
    writeAsStranger: async () => void telegram.say(chat, 'Is anybody there?'),
    first: async () => (await telegram.waitForSent(1))[0]!.text,
  });
});

test('on Discord, as the page says', async () => {
  await using discord = await startFakeDiscord();
  const ada = discord.direct(discord.user('Ada'));
  await letInOn('docs/get-started/discord.md', {
    url: discord.url,
    token: ['DISCORD_TOKEN', discord.token],
    writeAsStranger: async () => {
      await discord.waitForReady();
      discord.say(ada, 'Is anybody there?');
    },
    first: async () => (await discord.waitForSent(1))[0]!.content,
  });
});
