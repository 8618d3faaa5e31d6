/** Kills the program under a Discord that keeps its own list of messages and answers. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { lastOf } from '../agents/stage.ts';
import { said } from '../fake/discord-bench.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { botToken, ScriptedDiscord } from '../fake/scripted-discord.ts';
import {
  freePort,
  scratch,
  startProgram,
  webhookConfig,
  writeConfig,
  type Program,
} from '../support/program.ts';
import { leftIn } from './audit.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';
import { until, untilAll } from '../support/waiting.ts';

const people = 5;
/** New sessions have a budget, which this proof does not attack. */
const lostMax = 12;
/** A person with this many open messages is silent: svc looks up a limited number of them. */
const waitingMax = 40;
/** As long as a start takes on a quiet machine. */
const startMs = 500;
/** Discord lets a bot send 50 messages a second. */
const betweenMs = { least: 100, more: 300 } as const;
const modelMs = 15;
/** The longest delay of a kill after its moment. */
const [enteredMs, runningMs, sentMs] = [30, 150, 5];
/** The longest wait for a moment. */
const momentMs = 15_000;

type Said = { readonly place: string; readonly text: string };

export const discordKill: Proof = {
  name: 'discord-kill',
  title:
    'SIGKILL at random moments under Discord, some sessions lost on the way: all that was said ' +
    'to the bot is answered once, in order; a repeat bears the nonce of the first',
  unit: 'kills',
  sizes: { change: 12, nightly: 500 },
  async run(count, seed, say) {
    const random = seeded(seed);
    await using scene = await scratch();
    mkdirSync(join(scene.path, 'store'), { mode: 0o700 });
    const database = join(scene.path, 'store', 'svc.db');
    await using discord = await ScriptedDiscord.start();
    await using model = await startFakeOllama((call) => {
      return { answer: `re: ${lastOf(call).content}`, delayMs: random() * modelMs };
    });
    const config = await writeConfig(scene.path, await documentOf(discord.url, model.url));
    const spawn = (): Program =>
      startProgram(['serve', '--config', config], { DISCORD_TOKEN: botToken });
    const list: Said[] = [];
    // svc can make up for a lost session only in known chats.
    {
      await using program = spawn();
      await greet(discord, program, list);
    }
    const talking = new AbortController();
    const talks = Array.from({ length: people }, (_, index) =>
      talk(discord, index, list, random, talking.signal),
    );
    let lost = 0;
    for (let killed = 0; killed < count; killed++) {
      if (lost < lostMax && random() < 0.3) {
        discord.welcomes.splice(0, Infinity, 'invalid');
        lost++;
      }
      await using program = await spawnPast(database, spawn);
      await someMoment(discord, program, random);
      program.child.kill('SIGKILL');
      await program.ended;
      if (killed % 50 === 49) say(`${killed + 1} kills, ${list.length} messages`);
    }
    talking.abort();
    await Promise.all(talks);
    await using program = spawn();
    await untilAll(list.length, () => firstReplies(discord).size);
    await stopAsAsked(program);
    const figures = audit(discord, list);
    const none = Object.fromEntries(Object.keys(figures.faults).map((name) => [name, 0]));
    const faults = { ...figures.faults, ...leftIn(database) };
    assert.deepEqual(faults, { ...none, buried: 0, unsettled: 0 });
    const { sessions } = discord;
    const resumes = discord.framesOf(6).length;
    return {
      kind: 'proved',
      figures: { messages: list.length, ...figures.faults, ...figures.seen, sessions, resumes },
    };
  },
};

async function documentOf(discordUrl: string, modelUrl: string) {
  const where = { port: 1, adminPort: await freePort(), modelUrl, receiverUrl: 'http://127.0.0.1' };
  // Another proof covers previews of growing replies.
  const shows = { streaming: false };
  const channel = { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN', ...shows };
  return {
    ...webhookConfig(where),
    channels: [{ ...channel, base_url: discordUrl }],
    routes: [{ channel: 'discord', brain: 'echo' }],
    storage: { path: 'store/svc.db' },
  };
}

const placeOf = (index: number): string => `31967415011561050${index}`;

/** Everybody sends one message and is answered; then svc stops as asked. */
async function greet(discord: ScriptedDiscord, program: Program, list: Said[]): Promise<void> {
  await until('a session', () => discord.sockets.length > 0);
  for (let index = 0; index < people; index++) sayIn(discord, placeOf(index), 0, list);
  await until('first replies', () => firstReplies(discord).size === people);
  await stopAsAsked(program);
}

/** One person in a direct chat, whether svc runs or not. */
async function talk(
  discord: ScriptedDiscord,
  index: number,
  list: Said[],
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  const place = placeOf(index);
  for (let number = 1; !signal.aborted;) {
    const replies = [...firstReplies(discord).keys()].filter((text) => text.startsWith(place));
    if (number - replies.length < waitingMax) sayIn(discord, place, number++, list);
    await pause(betweenMs.least + random() * betweenMs.more);
  }
}

function sayIn(discord: ScriptedDiscord, place: string, number: number, list: Said[]): void {
  const text = `${place} ${number}`;
  const message = said(text, { channel_id: place });
  list.push({ place, text });
  discord.history.set(place, [...(discord.history.get(place) ?? []), message]);
  discord.dispatch('MESSAGE_CREATE', message);
}

async function someMoment(
  discord: ScriptedDiscord,
  program: Program,
  random: () => number,
): Promise<void> {
  const [which, first, second] = [random(), random(), random()];
  if (which < 0.2) return pause(first * startMs);
  const entered = discord.framesOf(2).length + discord.framesOf(6).length;
  const event = async (): Promise<void> => {
    await discord.until(() => discord.framesOf(2).length + discord.framesOf(6).length > entered);
    if (which < 0.4) return pause(first * enteredMs);
    const posts = discord.postsTo('/messages').length;
    await pause(first * runningMs);
    if (which < 0.7) return;
    await discord.until(() => discord.postsTo('/messages').length > posts);
    await pause(second * sentMs);
  };
  await Promise.race([event(), program.ended, pause(momentMs, undefined, { ref: false })]);
}

/** Maps each answered text to the nonce of its first reply. */
function firstReplies(discord: ScriptedDiscord): Map<string, string> {
  const first = new Map<string, string>();
  for (const { body } of discord.postsTo('/messages')) {
    const text = String(body['content']).replace('re: ', '');
    if (!first.has(text)) first.set(text, String(body['nonce']));
  }
  return first;
}

function audit(discord: ScriptedDiscord, list: readonly Said[]) {
  const first = firstReplies(discord);
  const posts = discord.postsTo('/messages');
  const nonces = new Set(posts.map(({ body }) => body['nonce']));
  const order = [...first.keys()];
  let disorder = 0;
  for (const place of new Set(list.map((one) => one.place))) {
    const spoken = list.filter((one) => one.place === place).map(({ text }) => text);
    const heard = order.filter((text) => text.startsWith(`${place} `));
    disorder += spoken.filter((text, at) => heard[at] !== text).length;
  }
  return {
    faults: {
      lost: list.filter(({ text }) => !first.has(text)).length,
      'second replies': nonces.size - first.size,
      'out of order': disorder,
    },
    seen: { repeats: posts.length - nonces.size },
  };
}
