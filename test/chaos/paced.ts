/**
 * Everybody writes at once to a bot whose platform refuses requests beyond its limits. Telegram
 * allows 30 messages a second, one a second in a chat and 20 a minute in a group. Discord allows
 * five in five seconds in a channel, and 50 requests a second.
 */
import assert from 'node:assert/strict';
import { lastOf } from '../agents/stage.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { freePort, scratch, startProgram, webhookConfig, writeConfig } from '../support/program.ts';
import { stopAsAsked } from './outside.ts';
import { together, type Proof } from './proof.ts';
import { untilAll } from '../support/waiting.ts';

const chatsMax = 100;
/** One chat in so many is a group. */
const groupEach = 10;

/** The platform of svc, and the messages to it: the chat's number, and the text. */
type Platform = AsyncDisposable & {
  readonly type: 'telegram' | 'discord';
  readonly url: string;
  readonly token: string;
  readonly say: (chat: number, text: string) => void;
  readonly sent: () => readonly { readonly chat: number; readonly text: string }[];
  readonly refused: () => number;
};

const sizes = { change: 400, nightly: 2_000 } as const;

export const paced: Proof = {
  name: 'paced',
  title:
    'many messages at once in up to 100 chats, groups among them, on each messenger with its own ' +
    'limits: every reply arrives once and in order, and none is refused by rate',
  unit: 'messages on each',
  sizes,
  async run(count, _seed, say) {
    const chats = Math.min(chatsMax, Math.ceil(count / 4));
    const on = (start: (chats: number) => Promise<Platform>) => async () => {
      await using platform = await start(chats);
      const begunAt = performance.now();
      await talk(platform, chats, count);
      // A busy machine sends late messages at once, so only a free one must stay below the limits.
      if (count >= sizes.nightly) assert.equal(platform.refused(), 0, 'refused by rate');
      const seconds = Math.round((performance.now() - begunAt) / 1_000);
      say(`${platform.type}: ${count} messages in ${seconds} s`);
      const refused = platform.refused();
      return { [`s on ${platform.type}`]: seconds, [`refused by ${platform.type}`]: refused };
    };
    const both = await together([on(startTelegram), on(startDiscord)]);
    return { kind: 'proved', figures: { ...both[0], ...both[1], lost: 0 } };
  },
};

async function talk(platform: Platform, chats: number, count: number): Promise<void> {
  await using scene = await scratch();
  await using model = await startFakeOllama((call) => {
    // In a group the speaker's name stands before the text.
    return { answer: `re: ${/\d+$/.exec(lastOf(call).content)?.[0]}` };
  });
  const config = await writeConfig(scene.path, await documentOf(platform, model.url));
  const env = { [`${platform.type.toUpperCase()}_TOKEN`]: platform.token };
  await using program = startProgram(['serve', '--config', config], env);
  await program.saw('is up');
  for (let number = 0; number < count; number++) platform.say(number % chats, `${number}`);
  await untilAll(count, () => platform.sent().filter(isWhole).length);
  await stopAsAsked(program);
  for (let chat = 0; chat < chats; chat++) {
    const texts = platform.sent().filter((one) => one.chat === chat);
    const numbers = Array.from({ length: count }, (_, at) => at).filter((n) => n % chats === chat);
    assert.deepEqual(
      texts.map(({ text }) => text),
      numbers.map((number) => `re: ${number}`),
      `chat ${chat}`,
    );
  }
}

/** svc may show a reply before it is whole. */
const isWhole = ({ text }: { readonly text: string }): boolean => !text.endsWith(' …');

const modes = { telegram: 'polling', discord: 'gateway' } as const;

async function documentOf({ type, url }: Platform, modelUrl: string) {
  const where = { port: 1, adminPort: await freePort(), modelUrl, receiverUrl: 'http://127.0.0.1' };
  const token_env = `${type.toUpperCase()}_TOKEN`;
  return {
    ...webhookConfig(where),
    channels: [{ type, mode: modes[type], token_env, base_url: url }],
    routes: [{ channel: type, brain: 'echo' }],
    storage: { path: 'svc.db' },
  };
}

const isGroup = (chat: number): boolean => chat % groupEach === 0;

async function startTelegram(count: number): Promise<Platform> {
  const telegram = await startFakeTelegram({ limited: true });
  const ann = telegram.person('Ann');
  const chats = Array.from({ length: count }, (_, at) =>
    isGroup(at) ? telegram.supergroup(`${at}`) : telegram.privateChat(telegram.person(`P${at}`)),
  );
  const numbers = new Map(chats.map(({ id }, at) => [id, at]));
  return {
    type: 'telegram',
    url: telegram.url,
    token: telegram.token,
    say(chat, text) {
      const to = chats[chat]!;
      if (!isGroup(chat)) telegram.say(to, text);
      else telegram.say(to, `@${telegram.bot.username} ${text}`, { from: ann });
    },
    sent: () => telegram.sent.map(({ chatId, text }) => ({ chat: numbers.get(chatId)!, text })),
    refused: () => telegram.limits!.refused,
    [Symbol.asyncDispose]: () => telegram[Symbol.asyncDispose](),
  };
}

async function startDiscord(count: number): Promise<Platform> {
  const discord = await startFakeDiscord({
    routeLimit: { requests: 5, windowMs: 5_000 },
    globalLimit: { requests: 50, windowMs: 1_000 },
  });
  const ann = discord.user('Ann');
  const guild = discord.guild('Team');
  const chats = Array.from({ length: count }, (_, at) =>
    isGroup(at) ? discord.textChannel(guild, `c${at}`) : discord.direct(discord.user(`P${at}`)),
  );
  const numbers = new Map(chats.map(({ id }, at) => [id, at]));
  return {
    type: 'discord',
    url: discord.url,
    token: discord.token,
    say(chat, text) {
      const to = chats[chat]!;
      if (!isGroup(chat)) discord.say(to, text);
      else discord.say(to, `<@${discord.bot.id}> ${text}`, { author: ann });
    },
    sent: () =>
      discord.sent.map(({ channelId, content }) => {
        return { chat: numbers.get(channelId)!, text: content };
      }),
    refused: () => discord.limits.refused,
    [Symbol.asyncDispose]: () => discord[Symbol.asyncDispose](),
  };
}
