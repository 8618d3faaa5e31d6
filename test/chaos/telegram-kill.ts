/**
 * Kills the program where a Telegram poller loses or doubles messages: when a poll was just
 * answered and nothing is written, when the next poll confirms, while a photo is downloaded, while
 * a model thinks, when a reply has arrived and svc does not know it yet.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Script } from '../fake/model-server.ts';
import { jpegOf } from '../fake/pictures.ts';
import type { FakeTelegram } from '../fake/telegram.ts';
import type { Program } from '../support/program.ts';
import { openTelegram } from '../telegram/program.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, together, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';
import { privateChats, Talk } from './talk.ts';

/** A chat gets one answer a second, after a few at once. */
const people = 10;
const waitingMax = 40;
const moments = ['start', 'polled', 'confirming', 'download', 'model', 'sent', 'running'] as const;
/** One message in so many brings a photo. */
const photoEvery = 4;
const [pauseMs, modelMs] = [60, 15];
/** The longest delays of a kill after its moment. */
const [startMs, runningMs] = [400, 150];
const photo = Buffer.from(jpegOf(8, 8));

export const telegramKill: Proof = {
  name: 'telegram-kill',
  title:
    'SIGKILL between poll, commit, confirmation, download, answer and send on Telegram: nothing ' +
    'is lost, answered out of order, or answered twice but across a kill',
  unit: 'kills',
  sizes: { change: 10, nightly: 500 },
  async run(count, seed, say) {
    const half = Math.ceil(count / 2);
    const [stored, held] = await together([
      () => attack(half, { storage: { path: 'svc.db' } }, seeded(seed), say),
      () => attack(count - half, {}, seeded(seed + 1), say),
    ]);
    const figures = { ...stored!, 'messages, without storage': held!.messages };
    return { kind: 'proved', figures: { ...figures, 'repeats there': held!.repeats } };
  },
};

/** @param more `storage`, or nothing: then Telegram keeps the unsettled messages */
async function attack(
  count: number,
  more: object,
  random: () => number,
  say: (line: string) => void,
) {
  await using scene = await open(random, more);
  const { telegram } = scene;
  // Without storage there is no such file.
  const database = join(scene.folder, 'svc.db');
  const file_id = telegram.storeFile('photos/file_1.jpg', photo);
  const size = { width: 8, height: 8, file_size: photo.length };
  const photos = [{ file_id, file_unique_id: 'p', ...size }];
  const talk = new Talk(privateChats(telegram, people), random, {
    pauseMs,
    // Without storage svc promises to drop the oldest of more than 80 waiting messages.
    isEnough: () => telegram.pending >= waitingMax,
    say(chat, text) {
      if (Number(text) % photoEvery !== 0) telegram.say(chat, text);
      else telegram.post(chat, { caption: text, photo: photos });
    },
    answerTo: (text) => `re: ${text}`,
    answers: () => telegram.sent,
  });
  const starts: number[] = [];
  const start = (): Program => {
    starts.push(Date.now());
    return scene.spawn();
  };
  for (let killed = 0; killed < count; killed++) {
    await using program = await spawnPast(database, start);
    await talk.until(strikeAt(scene, program, random));
    program.child.kill('SIGKILL');
    await program.ended;
    telegram.downloads.stalled = false;
    // Reads everything that this process sent, before the next one begins.
    await telegram.unconnected();
    // Ids may begin anew while no message waits there.
    if (telegram.pending === 0 && random() < 0.2) telegram.restartUpdateIds();
    if (killed % 25 === 24) say(`${killed + 1} kills, ${talk.said.length} messages`);
  }
  await using program = start();
  await talk.untilAnswered();
  await stopAsAsked(program);
  const figures = audit(talk, telegram, starts);
  assert.deepEqual([figures.lost, figures['out of order'], figures['doubled alone']], [0, 0, 0]);
  return figures;
}

type Asked = { messages: { content: string; images?: readonly string[] }[] };
type Scene = Awaited<ReturnType<typeof open>>;

function open(random: () => number, more: object) {
  const script: Script = ({ body }) => {
    const { content, images } = (body as Asked).messages.at(-1)!;
    // A line below the text mentions the picture.
    const [text] = content.split('\n');
    const missed = Number(text) % photoEvery === 0 && images?.length !== 1;
    return { answer: missed ? 'no photo' : `re: ${text}`, delayMs: random() * modelMs };
  };
  return openTelegram(script, { more, capabilities: ['completion', 'vision'], random });
}

/** Resolves at a random moment, or when the program has ended by itself. */
async function strikeAt(scene: Scene, program: Program, random: () => number): Promise<void> {
  const { telegram, model } = scene;
  const moment = moments[Math.floor(random() * moments.length)]!;
  if (moment === 'start') return pause(random() * startMs);
  await program.saw('is up');
  const event = async (): Promise<unknown> => {
    switch (moment) {
      case 'polled':
        return telegram.until(() => answeredPoll(telegram), 'a poll with updates');
      case 'confirming':
        return confirmation(telegram);
      case 'download':
        return stalledDownload(telegram);
      case 'model':
        return model.call(model.calls.length);
      case 'sent':
        return telegram.waitForSent(telegram.sent.length + 1);
      case 'running':
        return pause(random() * runningMs);
      default:
        return moment satisfies never;
    }
  };
  await Promise.race([event(), program.ended]);
}

function answeredPoll(telegram: FakeTelegram): true | undefined {
  const answer = telegram.callsOf('getUpdates').at(-1)?.answer;
  const isFull = answer?.ok === true && (answer.result as readonly unknown[]).length > 0;
  return isFull || undefined;
}

function confirmation(telegram: FakeTelegram): Promise<unknown> {
  const { length } = telegram.confirmed;
  return telegram.until(() => telegram.confirmed.length > length || undefined, 'a confirmation');
}

function stalledDownload(telegram: FakeTelegram): Promise<unknown> {
  const { downloads } = telegram;
  const { length } = downloads.asked;
  downloads.stalled = true;
  return telegram.until(() => downloads.asked.length > length || undefined, 'a download');
}

/** One answer for each message, in its chat's order; a second one only from another process. */
function audit(talk: Talk, telegram: FakeTelegram, starts: readonly number[]) {
  const first = new Map<string, number>();
  const newest = new Map<number, number>();
  let [repeats, alone, disordered] = [0, 0, 0];
  for (const { chatId, text, at } of telegram.sent) {
    const number = Number(text.slice(4));
    const before = first.get(text);
    if (before === undefined) {
      if (number < (newest.get(chatId) ?? -1)) disordered++;
      newest.set(chatId, number);
    } else {
      repeats++;
      if (!starts.some((start) => start >= before && start <= at)) alone++;
    }
    first.set(text, at);
  }
  return {
    messages: talk.said.length,
    lost: talk.said.filter(({ text }) => !first.has(`re: ${text}`)).length,
    repeats,
    'doubled alone': alone,
    'out of order': disordered,
  };
}
