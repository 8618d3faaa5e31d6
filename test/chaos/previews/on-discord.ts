import { join } from 'node:path';
import { startFakeDiscord, type FakeDiscord } from '../../fake/discord.ts';
import type { Channel, Message } from '../../fake/discord/wire.ts';
import type { Script } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import {
  freePort,
  scratch,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../../support/program.ts';
import { goesOn, type Deed, type Made, type Messenger } from './messenger.ts';
import { patienceMs } from '../../support/waiting.ts';

const [create, edit] = ['POST /channels/:id/messages', 'PATCH /channels/:id/messages/:id'] as const;
const response = 'PATCH /webhooks/:id/:token/messages/@original';
/** One question in so many is asked by a command, once there are commands. */
const commandEach = 9;
/** A deferred response: the command makes its message, and the text comes later. */
const [calledType, loading] = [20, 1 << 7];
const limited = { kind: 'rate-limit', retryAfterSeconds: 1 } as const;
const failed = { kind: 'status', status: 500 } as const;
const page = { kind: 'html', status: 502, done: true } as const;
const reset = { kind: 'reset', done: true } as const;
const spoilings: readonly Parameters<FakeDiscord['fail']>[] = [
  [create, failed],
  [create, page],
  [create, reset],
  [create, limited],
  [edit, failed],
  [edit, page],
  [edit, reset],
  [edit, limited],
  [response, failed],
  [response, reset],
];

/** Opens two direct chats, a channel of a guild and a thread in it. */
export async function openOnDiscord(script: Script, random: () => number): Promise<Messenger> {
  await using opened = new AsyncDisposableStack();
  const { path: folder } = opened.use(await scratch());
  const routeLimit = { requests: 5, windowMs: 5_000 };
  const discord = opened.use(await startFakeDiscord({ identifyGapMs: 0, routeLimit }));
  const model = opened.use(await startFakeOllama(script));
  const config = await writeConfig(folder, await documentOf(discord.url, model.url));
  const ann = discord.user('Ann');
  const hall = discord.textChannel(discord.guild('House'), 'hall');
  const direct = ['Bo', 'Cy'].map((name) => discord.direct(discord.user(name)));
  const channels = [...direct, hall, discord.thread(hall, 'nook')];
  const own = opened.move();
  return {
    name: 'Discord',
    database: join(folder, 'svc.db'),
    places: channels,
    say({ id }, number) {
      const channel = channels.find((one) => one.id === id)!;
      const author = channel.recipients?.[0] ?? ann;
      const isChosen = Number(number) % commandEach === 0 && discord.slash.registered.length > 0;
      if (isChosen) discord.choose(author, channel, 'new', number);
      else if (channel.type === 1) discord.say(channel, number);
      else discord.say(channel, `<@${discord.bot.id}> ${number}`, { author });
    },
    spawn: () => startProgram(['serve', '--config', config], { DISCORD_TOKEN: discord.token }),
    findsBegun: true,
    connected: () => discord.waitForReady(),
    spoil: () => discord.fail(...spoilings[Math.floor(random() * spoilings.length)]!),
    deeds: () => deedsOn(discord),
    made: () => madeOn(discord, channels),
    remove({ message, place }) {
      const channel = channels.find(({ id }) => id === place)!;
      const there = discord.standing(channel).find(({ id }) => id === message);
      if (there !== undefined) discord.remove(channel, there);
    },
    waiting: () =>
      channels
        .flatMap((channel) => discord.standing(channel))
        .filter(({ flags }) => (Number(flags) & loading) !== 0).length,
    until: (find, what) => discord.until(find, what, patienceMs),
    unconnected: () => discord.unconnected(),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

async function documentOf(discordUrl: string, modelUrl: string) {
  const where = { port: 1, adminPort: await freePort(), modelUrl, receiverUrl: 'http://127.0.0.1' };
  const channel = { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN' };
  return {
    ...webhookConfig(where),
    channels: [{ ...channel, base_url: discordUrl, streaming: true }],
    routes: [{ channel: 'discord', brain: 'echo' }],
    storage: { path: 'svc.db' },
    session: {},
  };
}

function deedsOn({ calls }: FakeDiscord): readonly Deed[] {
  return calls.flatMap(({ route, path, body, at, isSpoiled }): Deed[] => {
    const { content } = (body ?? {}) as { readonly content?: unknown };
    const facts = { text: String(content), at, isSpoiled };
    if (route === create) return [{ kind: 'make', message: null, ...facts }];
    if (route === edit) return [{ kind: 'edit', message: path.split('/')[4]!, ...facts }];
    return route === response ? [{ kind: 'edit', message: null, ...facts }] : [];
  });
}

/** The bot's messages, and the responses to commands. */
function madeOn(discord: FakeDiscord, channels: readonly Channel[]): readonly Made[] {
  const factsOf = ({ id, channel_id, timestamp, type }: Message) => {
    const isCalled = type === calledType;
    return { message: id, place: channel_id, madeAt: Date.parse(timestamp), isCalled };
  };
  const sent = discord.sent.map(({ message }): Made => {
    const text = discord.shown(message)?.content ?? null;
    return { ...factsOf(message), grew: message.content.endsWith(goesOn), text };
  });
  const called = channels
    .flatMap((channel) => discord.standing(channel))
    .filter(({ type, content }) => type === calledType && content !== '')
    .map((message): Made => ({ ...factsOf(message), grew: false, text: message.content }));
  return [...sent, ...called];
}
