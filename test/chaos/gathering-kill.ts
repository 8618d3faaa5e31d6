/**
 * Kills the program while albums and bursts are gathered, joined, answered and sent: no piece is
 * lost, and what was answered is answered again only by another process.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { lastOf } from '../agent-stage.ts';
import type { Script } from '../fake/model-server.ts';
import { Album } from '../fake/telegram/albums.ts';
import type { FakeTelegram } from '../fake/telegram.ts';
import type { Chat } from '../fake/telegram/wire.ts';
import { openTelegram } from '../telegram-program.ts';
import { stopAsAsked, untilAll, untilTrue } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';

const people = ['Ann', 'Bo', 'Cy'];
const gatherMs = 200;
/** Long enough for a round to come in, to be joined, to be answered. */
const strikeMsMax = 1_800;

export const gatheringKill: Proof = {
  name: 'gathering-kill',
  title:
    'SIGKILL while albums and bursts are gathered, joined, answered and sent on Telegram: no ' +
    'piece is lost, and none is answered twice but across a kill',
  unit: 'kills',
  sizes: { test: 3, change: 20, nightly: 300 },
  async run(count, seed, say) {
    const random = seeded(seed);
    const script: Script = (call) => {
      return { answer: `re: ${lastOf(call).content}`, delayMs: random() * 300 };
    };
    const setup = { channel: { gather_ms: gatherMs }, more: { storage: { path: 'svc.db' } } };
    await using stage = await openTelegram(script, { ...setup, random });
    const { telegram, spawn } = stage;
    const database = join(stage.folder, 'svc.db');
    const talk = new Talk(telegram, random);
    const starts: number[] = [];
    for (let killed = 0; killed < count; killed++) {
      await using program = await spawnPast(database, spawn);
      starts.push(Date.now());
      await program.saw('is up');
      await Promise.all([talk.round(), pause(random() * strikeMsMax)]);
      program.child.kill('SIGKILL');
      await program.ended;
      await telegram.unconnected();
      if (killed % 25 === 24) say(`${killed + 1} kills, ${talk.messages} messages`);
    }
    await using program = spawn();
    starts.push(Date.now());
    await untilAll(talk.said.length, () => answersTo(talk, telegram).size);
    await untilTrue('all is confirmed', () => telegram.pending === 0);
    await untilTrue('all pieces are answered', () => rowsIn(database, 0) === 0);
    await stopAsAsked(program);
    const figures = audit(talk, telegram, starts, database);
    assert.deepEqual([figures.lost, figures.dead, figures['doubled alone']], [0, 0, 0]);
    assert.ok(figures.joined > 0, 'pieces were joined');
    return { kind: 'proved', figures };
  },
};

/** What people say. Each text and each caption has a mark of its own, which its answer repeats. */
class Talk {
  readonly said: string[] = [];
  /** Photos without a caption among them. */
  messages = 0;
  readonly #telegram: FakeTelegram;
  readonly #random: () => number;
  readonly #chats: readonly Chat[];

  constructor(telegram: FakeTelegram, random: () => number) {
    this.#telegram = telegram;
    this.#random = random;
    this.#chats = people.map((name) => telegram.privateChat(telegram.person(name)));
  }

  /** Everybody says something at once, in pieces. */
  async round(): Promise<void> {
    await Promise.all(
      this.#chats.map((chat) => (this.#random() < 0.5 ? this.#album(chat) : this.#burst(chat))),
    );
  }

  async #album(chat: Chat): Promise<void> {
    const album = new Album(this.#telegram, chat);
    const [photos, captioned] = [2 + Math.floor(this.#random() * 4), this.#random() < 0.8 ? 0 : 1];
    for (let at = 0; at < photos; at++) {
      album.photo(at === captioned ? this.#mark() : '');
      this.messages++;
      await pause(this.#random() * 60);
    }
  }

  async #burst(chat: Chat): Promise<void> {
    const texts = 1 + Math.floor(this.#random() * 4);
    for (let at = 0; at < texts; at++) {
      this.#telegram.say(chat, this.#mark());
      this.messages++;
      await pause(this.#random() * 120);
    }
  }

  #mark(): string {
    const mark = `m${this.said.length}m`;
    this.said.push(mark);
    return mark;
  }
}

/** When each mark was answered. */
function answersTo({ said }: Talk, { sent }: FakeTelegram): Map<string, number[]> {
  const known = new Set(said);
  const answers = new Map<string, number[]>();
  for (const { text, at } of sent) {
    for (const [mark] of text.matchAll(/m\d+m/g)) {
      if (known.has(mark)) answers.set(mark, [...(answers.get(mark) ?? []), at]);
    }
  }
  return answers;
}

function audit(talk: Talk, telegram: FakeTelegram, starts: readonly number[], database: string) {
  const answers = answersTo(talk, telegram);
  let [repeats, alone] = [0, 0];
  for (const times of answers.values()) {
    for (let at = 1; at < times.length; at++) {
      const [before, now] = [times[at - 1]!, times[at]!];
      repeats++;
      if (!starts.some((start) => start >= before && start <= now)) alone++;
    }
  }
  return {
    messages: talk.messages,
    lost: talk.said.length - answers.size + (talk.messages - rowsIn(database, 1)),
    dead: rowsIn(database, 2),
    joined: joinedIn(database),
    repeats,
    'doubled alone': alone,
  };
}

/** @param state 0: waits; 1: answered; 2: a dead letter */
function rowsIn(database: string, state: number): number {
  return countIn(database, `SELECT count(*) AS n FROM inbox WHERE state = ${state}`);
}

function joinedIn(database: string): number {
  return countIn(database, `SELECT count(*) AS n FROM traces WHERE body LIKE '%"kind":"joined"%'`);
}

function countIn(database: string, sql: string): number {
  using db = new DatabaseSync(database, { readOnly: true, timeout: 10_000 });
  return Number(db.prepare(sql).get()?.['n']);
}
