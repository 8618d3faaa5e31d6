/** A messenger's words about a refusal stand with the dead letter, scrubbed, and nowhere else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { refuse } from '../fake/telegram/wire.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const canary = 'my PIN is canary-7731 and nobody may know';

async function stage(type: 'telegram' | 'discord', url: string, token: string) {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const model = own.use(await startFakeOllama({ answer: canary }));
  const [adminPort, mode] = [await freePort(), { telegram: 'polling', discord: 'gateway' }[type]];
  const where = { port: 1, adminPort, modelUrl: model.url, receiverUrl: 'http://127.0.0.1' };
  const file = await writeConfig(folder, {
    ...webhookConfig(where),
    channels: [{ type, mode, token_env: 'TOKEN', base_url: url }],
    routes: [{ channel: type, brain: 'echo' }],
    storage: { path: 'svc.db' },
  });
  const env = { TOKEN: token };
  const page = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text();
  /** Why each one died, as `svc` shows it. */
  const shown = async (ids: readonly string[]): Promise<string> => {
    const outs = ids.map(async (id) => {
      const { out } = await runCommand(['dead-letters', 'show', id, '--config', file], { env });
      return out.split('\n').find((line) => line.startsWith('rejected'));
    });
    return (await Promise.all(outs)).join('\n');
  };
  const program = own.use(startServe(file, env));
  await program.saw('"listening"');
  return {
    program,
    /** All output about the dead letters, once there are so many. */
    async letters(count: number): Promise<string> {
      return until(`${count} dead letters`, async () => {
        const letters = await page('/api/v1/dead-letters');
        const { rows } = JSON.parse(letters) as { rows: { id: string }[] };
        if (rows.length < count) return null;
        return letters + (await shown(rows.map(({ id }) => id)));
      });
    },
    async elsewhere(log: string): Promise<string> {
      return [log, await page('/metrics'), await page('/api/v1/status')].join('\n');
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('Telegram: its words, without the token, a name, an id, or what was sent', async () => {
  await using telegram = await startFakeTelegram({ secondMs: 20 });
  await using it = await stage('telegram', telegram.url, telegram.token);
  const ann = telegram.privateChat(telegram.person('Ann'));
  const secret = telegram.token.split(':')[1]!;
  const refusals = [
    `Bad Request: not enough rights in ${ann.id} of @ann_lee, says bot${telegram.token}`,
    `Bad Request: can't find the end of "${canary}"`,
  ];
  for (const words of refusals) {
    telegram.fail('sendMessage', { kind: 'refuse', answer: refuse(400, words) });
  }
  for (const text of ['one', 'two']) telegram.say(ann, text);
  const letters = await it.letters(2);
  assert.match(letters, /the platform said: "Bad Request: not enough rights in of , says bot/);
  // In the program's own output as well as over HTTP, where quotes are escaped.
  assert.match(letters, /the platform said: \\"Bad Request: not enough rights/);
  for (const hidden of [secret, 'ann_lee', String(ann.id), 'canary', 'find the end']) {
    assert.ok(!letters.includes(hidden), hidden);
  }
  const others = await it.elsewhere(it.program.log());
  assert.match(others, /dead_letter/);
  for (const hidden of ['not enough rights', 'platform said', 'find the end', 'canary', secret]) {
    assert.ok(!others.includes(hidden), hidden);
  }
});

test('Discord: the message of its error', async () => {
  await using discord = await startFakeDiscord();
  await using it = await stage('discord', discord.url, discord.token);
  await it.program.saw('messenger_b is up');
  const chat = discord.direct(discord.user('Ann'));
  discord.refuse(chat, 'missingPermissions');
  discord.say(chat, 'one');
  const letters = await it.letters(1);
  assert.match(letters, /the bot may not write.*; the platform said: "Missing Permissions"/);
  assert.ok(!(await it.elsewhere(it.program.log())).includes('Missing Permissions'));
});
