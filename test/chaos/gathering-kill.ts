/**
 * Kills the program while it merges, fetches, answers and sends albums, bursts and files. No part
 * and no file is lost, and only another process repeats an answer.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Downloads, Sending } from '../fake/downloads.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { noPostgres } from '../fake/postgres.ts';
import { startFakeSpeech } from '../fake/speech.ts';
import {
  freePort,
  scratch,
  startProgram,
  webhookConfig,
  writeConfig,
  type Program,
} from '../support/program.ts';
import { answered, audit } from './gathering/audit.ts';
import { onPostgres, onSqlite, type Kept } from './gathering/kept.ts';
import { Seer, thinkMsMax } from './gathering/model.ts';
import { onDiscord, onTelegram, type Platform } from './gathering/platforms.ts';
import { marksIn, Talk } from './gathering/talk.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, together, type Proof } from './proof.ts';
import { until, untilAll } from '../support/waiting.ts';

const gatherMs = 200;
/** Long enough for a round to arrive, and to be fetched, merged and answered. */
const strikeMsMax = 1_800;
/** A start delays a message that was next at two kills; each fourth round waits for it. */
const calmEach = 4;
const pieces = 4;
const pieceMsMax = 80;
const sentMsMax = 10;
const moments = ['any', 'download', 'download', 'model', 'sent'] as const;
/** In nearly every round somebody sends a file. */
const eventMsMax = 2_000;

type Place = { readonly name: string; readonly share: number } & {
  readonly platform: (random: () => number) => Promise<Platform>;
  readonly kept: (folder: string) => Kept | Promise<Kept>;
};
const places: readonly Place[] = [
  { name: 'Telegram', share: 0.4, platform: onTelegram, kept: onSqlite },
  { name: 'Discord', share: 0.35, platform: onDiscord, kept: onSqlite },
  { name: 'Telegram with PostgreSQL', share: 0.25, platform: onTelegram, kept: onPostgres },
];

/** With this many kills some parts are merged, whatever the chance. */
const joinedFrom = 10;

export const gatheringKill: Proof = {
  name: 'gathering-kill',
  title:
    'SIGKILL while albums, bursts and files are gathered, fetched, joined, answered and sent on ' +
    'Telegram and Discord: no piece and no file is lost, and none is answered twice but across ' +
    'a kill',
  unit: 'kills',
  sizes: { change: 25, nightly: 300 },
  async run(count, seed, say) {
    const these = places.filter(({ kept }) => kept !== onPostgres || noPostgres === false);
    const attacks = these.map((place, at) => async () => {
      const kills = Math.ceil(count * place.share);
      const found = await attack(place, kills, seeded(seed + at));
      say(`${place.name}: ${kills} kills`);
      return { [`kills on ${place.name}`]: kills, ...found };
    });
    const figures: Record<string, number> = {};
    for (const found of await together<Record<string, number>>(attacks)) {
      for (const [name, figure] of Object.entries(found)) {
        figures[name] = (figures[name] ?? 0) + figure;
      }
    }
    // In a few rounds the kills may prevent every merge.
    if (count >= joinedFrom) assert.ok(figures['joined']! > 0, 'pieces were joined');
    const skipped: Record<string, string> =
      noPostgres === false ? {} : { 'without PostgreSQL': noPostgres };
    return { kind: 'proved', figures: { ...figures, ...skipped } };
  },
};

async function attack(place: Place, count: number, random: () => number) {
  await using scene = await open(place, random);
  const { platform, kept, talk, model, spawn } = scene;
  await greeted(spawn(), platform, talk);
  platform.downloads.sending = badly(random);
  const starts: number[] = [];
  const start = (): Program => {
    starts.push(Date.now());
    return spawn();
  };
  const answeredAll = (): Promise<void> =>
    untilAll(talk.marks.length, () => answered(platform.sent()).size);
  let inDownload = 0;
  for (let killed = 0; killed < count; killed++) {
    await using program = await kept.spawnPast(start);
    await program.saw('is up');
    if (killed % calmEach === calmEach - 1) await answeredAll();
    await Promise.all([talk.round(), strikeAt(platform, model, random)]);
    program.child.kill('SIGKILL');
    if (platform.downloads.underWay > 0) inDownload++;
    await program.ended;
    await platform.unconnected();
    platform.disturb();
  }
  await using program = await kept.spawnPast(start);
  await answeredAll();
  await until('all pieces are answered', async () => {
    return (await kept.count('answered')) === talk.said.length;
  });
  await stopAsAsked(program);
  return {
    ...(await conclude(scene, starts)),
    'in a download': inDownload,
  };
}

type Scene = Awaited<ReturnType<typeof open>>;

async function open(place: Place, random: () => number) {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  const platform = made.use(await place.platform(random));
  const kept = await place.kept(folder);
  const talk = new Talk(platform, random);
  const seer = new Seer(talk, random);
  const sees = { capabilities: ['completion', 'vision'] };
  const model = made.use(await startFakeOllama(seer.script, sees));
  const speech = made.use(
    await startFakeSpeech(({ bytes }) => marksIn(Buffer.from(bytes).toString())[0] ?? ''),
  );
  const urls = { model: model.url, speech: speech.url };
  const spawn = await spawnOn(folder, platform, kept, urls);
  const own = made.move();
  const dispose = { [Symbol.asyncDispose]: () => own.disposeAsync() };
  return { platform, kept, talk, seer, model, spawn, ...dispose };
}

async function conclude({ talk, platform, kept, seer }: Scene, starts: readonly number[]) {
  const { messages, pictures, files, repeats, ...faults } = audit(talk, platform.sent(), starts);
  const { 'more than fit': beyond, ...none } = faults;
  const found = {
    ...none,
    ...(await kept.left()),
    'shown with others': seer.mistaken,
    strays: await kept.count('strays'),
    'kept twice': await kept.count('twice'),
  };
  const zeros = Object.fromEntries(Object.keys(found).map((name) => [name, 0]));
  assert.deepEqual(found, zeros);
  const joined = await kept.count('joined');
  const again = { 'shown again': seer.shownAgain, 'more than fit': beyond };
  return { messages, pictures, files, joined, ...again, repeats, 'all else': 0 };
}

async function spawnOn(
  folder: string,
  { type, mode, url, token }: Platform,
  kept: Kept,
  urls: { readonly model: string; readonly speech: string },
): Promise<() => Program> {
  const where = { port: 1, adminPort: await freePort(), receiverUrl: 'http://127.0.0.1' };
  const token_env = `${type.toUpperCase()}_TOKEN`;
  const speech = { base_url: urls.speech, model: 'small' };
  // Another proof covers previews of growing replies.
  const channel = { type, mode, token_env, streaming: false, gather_ms: gatherMs, speech };
  const file = await writeConfig(folder, {
    ...webhookConfig({ ...where, modelUrl: urls.model }),
    channels: [{ ...channel, base_url: url }],
    routes: [{ channel: type, brain: 'echo' }],
    storage: kept.block,
  });
  const env = { ...kept.env, [token_env]: token };
  return () => startProgram(['serve', '--config', file], env);
}

/** svc can make up for a lost session only in known chats. */
async function greeted(spawned: Program, platform: Platform, talk: Talk): Promise<void> {
  await using program = spawned;
  await program.saw('is up');
  talk.greet();
  await platform.until(() => answered(platform.sent()).size === talk.said.length, 'the greetings');
  await stopAsAsked(program);
}

/** Most files come slowly; each of the others fails the first time. */
function badly(random: () => number): Downloads['sending'] {
  const asked = new Set<string>();
  return (path): Sending => {
    const isFirst = !asked.has(path);
    asked.add(path);
    const how = random();
    if (isFirst && how < 0.15) return { kind: 'cut' };
    if (isFirst && how < 0.3) return { kind: 'status', status: 503 };
    return { kind: 'slow', pieces, everyMs: random() * pieceMsMax };
  };
}

/** Resolves at a random moment. */
async function strikeAt(platform: Platform, model: FakeModel, random: () => number): Promise<void> {
  const { downloads, sent } = platform;
  const [moment, share] = [moments[Math.floor(random() * moments.length)]!, random()];
  const [asked, answers] = [downloads.asked.length, sent().length];
  const event = async (): Promise<void> => {
    switch (moment) {
      case 'any':
        return pause(share * strikeMsMax);
      case 'download':
        await platform.until(() => downloads.asked.length > asked, 'a download');
        return pause(share * pieceMsMax);
      case 'model':
        await model.call(model.calls.length);
        return pause(share * thinkMsMax);
      case 'sent':
        await platform.until(() => sent().length > answers, 'an answer');
        return pause(share * sentMsMax);
      default:
        return moment satisfies never;
    }
  };
  await Promise.race([event(), pause(eventMsMax)]);
}
