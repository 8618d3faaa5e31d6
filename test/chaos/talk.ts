/** What people say on Telegram by chance, each in a private chat, numbered. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeTelegram } from '../fake/telegram.ts';
import type { Chat } from '../fake/telegram/wire.ts';
import { untilAll } from './outside.ts';

export type Saying = { readonly chat: number; readonly text: string };

type Manners = {
  readonly people: number;
  /** Between two messages at most. */
  readonly pauseMs: number;
  /** Whether so much waits for an answer that nobody says more. */
  readonly isEnough: (talk: Talk) => boolean;
  /** How it is said; left out: as a text. */
  readonly say?: (chat: Chat, text: string) => void;
  readonly answerTo: (text: string) => string;
  /** What the bot has answered so far. */
  readonly answers: () => readonly { readonly text: string }[];
};

export class Talk {
  readonly said: Saying[] = [];
  readonly #telegram: FakeTelegram;
  readonly #random: () => number;
  readonly #manners: Manners;
  readonly #chats;

  constructor(telegram: FakeTelegram, random: () => number, manners: Manners) {
    this.#telegram = telegram;
    this.#random = random;
    this.#manners = manners;
    const names = Array.from({ length: manners.people }, (_, at) => `Person ${at}`);
    this.#chats = names.map((name) => telegram.privateChat(telegram.person(name)));
  }

  /** People talk until that is over. */
  async until(over: Promise<void>): Promise<void> {
    const { pauseMs, isEnough, say = this.#telegram.say.bind(this.#telegram) } = this.#manners;
    const state = { over: false };
    const ended = over.finally(() => (state.over = true));
    while (!state.over) {
      await Promise.race([ended, pause(this.#random() * pauseMs)]);
      if (isEnough(this)) continue;
      const chat = this.#chats[Math.floor(this.#random() * this.#chats.length)]!;
      const text = `${this.said.length}`;
      say(chat, text);
      this.said.push({ chat: chat.id, text });
    }
    await ended;
  }

  get answered(): number {
    const { answers, answerTo } = this.#manners;
    const texts = new Set(answers().map(({ text }) => text));
    return this.said.filter(({ text }) => texts.has(answerTo(text))).length;
  }

  /** Resolves when every message has an answer, or when no more answers come. */
  untilAnswered(): Promise<void> {
    return untilAll(this.said.length, () => this.answered);
  }
}
