/**
 * Kills the program where a Telegram poller loses messages or doubles them: when a poll was just
 * answered and nothing is written, when the next poll confirms, while a photo is downloaded, while
 * a model thinks, when a reply has arrived and svc does not know it yet.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { jpegOf } from '../fake/pictures.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import type { FakeTelegram } from '../fake/telegram.ts';
import { freePort, scratch } from '../program.ts';
import type { Program } from '../program.ts';
import { spawnOn, writeTelegramConfig } from '../telegram-program.ts';
import { untilAll } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';

const people = ['Ann', 'Bo', 'Cy', 'Di'];
const waitingMax = 40;
const moments = ['start', 'polled', 'confirming', 'download', 'model', 'sent', 'running'] as const;
/** Of so many messages one brings a photo. */
const photoEvery = 4;
const photo = Buffer.from(jpegOf(8, 8));

export const telegramKill: Proof = {
  name: 'telegram-kill',
  title:
    'SIGKILL between poll, commit, confirmation, download, answer and send on Telegram: nothing ' +
    'is lost, answered out of order, or answered twice but across a kill',
  unit: 'kills',
  sizes: { test: 3, change: 20, nightly: 500 },
  async run(count, seed, say) {
    const random = seeded(seed);
    const half = Math.ceil(count / 2);
    const stored = await attack(half, { storage: { path: 'svc.db' } }, random, say);
    const held = await attack(count - half, {}, random, say);
    const figures = { ...stored, 'messages, without storage': held.messages };
    return { kind: 'proved', figures: { ...figures, 'repeats there': held.repeats } };
  },
};

/** @param more `storage`, or nothing: then Telegram keeps what is not settled */
async function attack(
  count: number,
  more: object,
  random: () => number,
  say: (line: string) => void,
) {
  await using scene = await open(random, more);
  const { telegram } = scene;
  const talk = new Talk(telegram, random);
  const starts: number[] = [];
  for (let killed = 0; killed < count; killed++) {
    await using program = await spawnPast(scene.database, scene.spawn);
    starts.push(Date.now());
    await talk.some(() => strikeAt(scene, program, random));
    program.child.kill('SIGKILL');
    await program.ended;
    telegram.downloads.stalled = false;
    // What it had sent is read before the next one begins, and so not taken for that one's.
    await telegram.unconnected();
    // Ids that begin anew are part of it, at a moment at which nothing waits there.
    if (telegram.pending === 0 && random() < 0.2) telegram.restartUpdateIds();
    if (killed % 25 === 24) say(`${killed + 1} kills, ${talk.said.length} messages`);
  }
  await using program = scene.spawn();
  starts.push(Date.now());
  await talk.answered();
  // All may have been answered before this start, which heeds a signal only from here on.
  await program.saw('"listening"');
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0, program.log().slice(-2_000));
  const figures = audit(talk, telegram, starts);
  assert.deepEqual([figures.lost, figures['out of order'], figures['doubled alone']], [0, 0, 0]);
  return figures;
}

type Scene = AsyncDisposable & {
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  /** Not there in the form without storage. */
  readonly database: string;
  readonly spawn: () => Program;
};

type Asked = { messages: { content: string; images?: readonly string[] }[] };

async function open(random: () => number, more: object): Promise<Scene> {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20, random }));
  const model = own.use(
    await startFakeOllama(
      ({ body }) => {
        const { content, images } = (body as Asked).messages.at(-1)!;
        const missed = Number(content) % photoEvery === 0 && images?.length !== 1;
        return { answer: missed ? 'no photo' : `re: ${content}`, delayMs: random() * 15 };
      },
      { capabilities: ['completion', 'vision'] },
    ),
  );
  const adminPort = await freePort();
  const where = { telegramUrl: telegram.url, modelUrl: model.url, adminPort, more };
  const file = await writeTelegramConfig(folder, where);
  return {
    telegram,
    model,
    database: join(folder, 'svc.db'),
    spawn: () => spawnOn(file, telegram),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Resolves at a moment chosen by chance, or when the program has ended by itself. */
async function strikeAt(scene: Scene, program: Program, random: () => number): Promise<void> {
  const { telegram, model } = scene;
  const moment = moments[Math.floor(random() * moments.length)]!;
  if (moment === 'start') return pause(random() * 400);
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
        return pause(random() * 150);
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

type Saying = { readonly chat: number; readonly text: string };

/** What people say, each in a private chat, numbered. */
class Talk {
  readonly said: Saying[] = [];
  readonly #telegram: FakeTelegram;
  readonly #random: () => number;
  readonly #chats;
  readonly #file: string;

  constructor(telegram: FakeTelegram, random: () => number) {
    this.#telegram = telegram;
    this.#random = random;
    this.#file = telegram.storeFile('photos/file_1.jpg', photo);
    this.#chats = people.map((name) => telegram.privateChat(telegram.person(name)));
  }

  /** People talk until that is over. */
  async some(until: () => Promise<void>): Promise<void> {
    const struck = { over: false };
    const ended = until().finally(() => (struck.over = true));
    while (!struck.over) {
      await Promise.race([ended, pause(this.#random() * 60)]);
      // Of more than 80 that wait, the form without storage lets the oldest go, as is promised.
      if (this.#telegram.pending >= waitingMax) continue;
      const chat = this.#chats[Math.floor(this.#random() * people.length)]!;
      const text = `${this.said.length}`;
      if (this.said.length % photoEvery === 0) this.#telegram.post(chat, this.#photo(text));
      else this.#telegram.say(chat, text);
      this.said.push({ chat: chat.id, text });
    }
    await ended;
  }

  #photo(caption: string): Readonly<Record<string, unknown>> {
    const size = { width: 8, height: 8, file_size: photo.length };
    return { caption, photo: [{ file_id: this.#file, file_unique_id: 'p', ...size }] };
  }

  /** Resolves when every message has an answer, or when no more answers come. */
  answered(): Promise<void> {
    return untilAll(this.said.length, () => {
      const answers = new Set(this.#telegram.sent.map(({ text }) => text));
      return this.said.filter(({ text }) => answers.has(`re: ${text}`)).length;
    });
  }
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
