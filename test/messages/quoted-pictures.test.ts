/** A reply to a picture of another in a group: the model sees it, or learns that it cannot. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Script } from '../fake/model-server.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { jpegOf, pngOf } from '../fake/pictures.ts';
import { startServe } from '../support/in-process.ts';
import { scratch, writeConfig } from '../support/program.ts';
import { openTelegram } from '../telegram/program.ts';

type Asked = { messages: { role: string; content: string; images?: string[] }[] };

const saysWhatItSees: Script = ({ body }) => {
  const { messages } = body as Asked;
  const told = messages.filter(({ role }) => role === 'user');
  const images = told.map((one) => one.images?.length ?? 0);
  return { answer: `${images.join(', ')}: ${told.at(-1)!.content}` };
};

async function stage(sensitivity = 'public') {
  const own = new AsyncDisposableStack();
  const more = { storage: { path: 'svc.db' } };
  const capabilities = ['completion', 'vision'];
  const it = own.use(await openTelegram(saysWhatItSees, { more, capabilities }));
  const { telegram, user: from } = it;
  const team = telegram.supergroup('Team');
  const config = JSON.parse(await readFile(it.file, 'utf8')) as { brains: object[] };
  config.brains = config.brains.map((brain) => ({ ...brain, sensitivity }));
  await writeFile(it.file, JSON.stringify(config));
  own.use(it.start());
  return {
    telegram,
    bob: (content: object) => telegram.post(team, { ...content }, { from: telegram.person('Bob') }),
    photo() {
      const bytes = Buffer.from(jpegOf(64, 32));
      const file_id = telegram.storeFile('photos/file_1.jpg', bytes);
      const size = { width: 64, height: 32, file_size: bytes.length };
      return { photo: [{ file_id, file_unique_id: 'l', ...size }] };
    },
    /** @param laterS moves its time on by so many seconds, as if svc had run for long */
    async asks(text: string, about?: { readonly date: number }, laterS = 0): Promise<string> {
      const before = telegram.sent.length;
      const reply = about && { ...about, date: about.date + laterS };
      const fields = reply === undefined ? {} : { reply_to_message: reply };
      telegram.say(team, `@svc_test_bot ${text}`, { from, fields });
      return (await telegram.waitForSent(before + 1))[before]!.text;
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a photo of another that is replied to is looked at, and so do later turns', async () => {
  await using it = await stage();
  const photo = it.bob({ ...it.photo(), caption: 'look' });
  const said = await it.asks('what is this?', photo, 3_600);
  assert.match(
    said,
    /^1: \w+: what is this\?\n\[picture: photo\]\n\nReplying to Bob:\nlook\n\[photo\]$/,
  );
  assert.match(await it.asks('and now?'), /^1, 0: /);
});

test('one that was sent before the group was public is not, and the model is told so', async () => {
  await using it = await stage();
  const said = await it.asks('what is this?', it.bob(it.photo()), -3_600);
  assert.match(said, /^0: \w+: what is this\?\n\nReplying to Bob:\n\[photo: not shown here\]$/);
  assert.deepEqual(it.telegram.downloads.asked, []);
});

test('a private brain sees it, whenever it was sent', async () => {
  await using it = await stage('private');
  assert.match(await it.asks('what is this?', it.bob(it.photo()), -3_600), /^1: /);
});

test('what svc cannot read there is told to the model as not shown', async () => {
  await using it = await stage();
  const video = it.bob({ video: { file_id: 'v', file_unique_id: 'v' } });
  const said = await it.asks('what is this?', video, 3_600);
  assert.match(said, /^0: .+\n\[video: not shown here\]$/s);
});

test('on Discord, too', async () => {
  await using scene = await scratch();
  const capabilities = ['completion', 'vision'];
  await using model = await startFakeOllama(saysWhatItSees, { capabilities });
  await using discord = await startFakeDiscord();
  const local = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const models = [{ ...local, base_url: model.url }];
  const token_env = 'DISCORD_TOKEN';
  const file = await writeConfig(scene.path, {
    channels: [
      { type: 'discord', mode: 'gateway', token_env, base_url: discord.url, streaming: false },
    ],
    brains: [{ name: 'eyes', sensitivity: 'private', policy: { kind: 'priority' }, models }],
    routes: [{ channel: 'discord', brain: 'eyes' }],
    observability: { enabled: false },
  });
  await using program = startServe(file, { DISCORD_TOKEN: discord.token });
  await program.saw('messenger_b is up');
  const channel = discord.direct(discord.user('Ada'));
  const attachments = [discord.storeFile('cat.png', 'image/png', pngOf(8, 8, [1, 2, 3]))];
  const cat = discord.say(channel, '', { fields: { attachments } });
  assert.match((await discord.waitForSent(1))[0]!.content, /^1:/);
  discord.say(channel, 'what is it?', { fields: { type: 19, referenced_message: cat } });
  const [, told] = await discord.waitForSent(2);
  assert.match(
    told!.content,
    /^1: what is it\?\n\[picture: cat\.png\]\n\nReplying .+\n(?:> )?\[cat\.png\]$/s,
  );
});
