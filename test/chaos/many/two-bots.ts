/**
 * Two bots of Telegram: the first one without a name, the second one with a name of its own. Their
 * chats have the same ids. Each bot has three routes: by a command, by a chat, and for the rest.
 */
import type { BotsScene } from './bots.ts';
import { startTelegram, type Platform } from './platforms.ts';

const command = '/code';
/** Every third message of a person begins with the command. */
const isCommand = (number: string): boolean => Number(number) % 3 === 0;
const secret = 'AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0';
/** One bot's id begins with the other's, so that keys which begin alike must be told apart. */
const bots = [
  { name: 'telegram', token: `1102015:${secret}`, variable: 'TELEGRAM_TOKEN' },
  { name: 'support', token: `11020155:${secret}`, variable: 'SUPPORT_TOKEN' },
] as const;

/** @param people the number for each bot, each in a private chat */
export async function startTwoBots(people: number, random: () => number): Promise<BotsScene> {
  await using opening = new AsyncDisposableStack();
  const platforms: Platform[] = [];
  for (const bot of bots) {
    platforms.push(withCommands(opening.use(await startTelegram(people, random, bot))));
  }
  opening.move();
  const wrong: string[] = [];
  return {
    platforms,
    env: Object.fromEntries(bots.map(({ variable, token }) => [variable, token])),
    models: bots.flatMap(brainsOf),
    wrong,
    judge(text, model) {
      if (brainFor(text) !== model) wrong.push(`${text}, by ${model}`);
    },
    documentFor: (modelUrl) => documentFor(platforms, modelUrl),
  };
}

const brainsOf = ({ name }: { readonly name: string }): readonly string[] => {
  return [`${name}-code`, `${name}-chat`, `${name}-rest`];
};

/** The brain of a text without its command, such as `support-0 7`; null: it is no such text. */
function brainFor(text: string): string | null {
  const [, name, place, number] = /^(\w+)-(\d+) (\d+)$/.exec(text) ?? [];
  if (name === undefined || number === undefined) return null;
  if (isCommand(number)) return `${name}-code`;
  return place === '0' ? `${name}-chat` : `${name}-rest`;
}

function withCommands(platform: Platform): Platform {
  return {
    ...platform,
    say(place, text) {
      const [, number = ''] = text.split(' ');
      platform.say(place, isCommand(number) ? `${command} ${text}` : text);
    },
  };
}

function documentFor(platforms: readonly Platform[], modelUrl: string): object {
  const bot = { type: 'telegram', mode: 'polling', streaming: false };
  const model = { provider: 'local_runtime', locality: 'local', base_url: modelUrl };
  return {
    channels: bots.map(({ name, variable }, at) => ({
      ...bot,
      ...(name !== bot.type && { name }),
      token_env: variable,
      base_url: platforms[at]!.url,
    })),
    brains: bots.flatMap(brainsOf).map((name) => ({
      name,
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [{ ...model, model_id: name }],
    })),
    routes: bots.flatMap(({ name: channel }, at) => [
      { channel, brain: `${channel}-code`, when: { commands: [command] } },
      { channel, brain: `${channel}-chat`, when: { chats: [platforms[at]!.chats[0]] } },
      { channel, brain: `${channel}-rest` },
    ]),
  };
}
