/** Random numbered messages of people on a messenger. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeTelegram } from '../fake/telegram.ts';
import type { Chat } from '../fake/telegram/wire.ts';
import { untilAll } from '../support/waiting.ts';

type Place = { readonly id: number | string };
export type Saying<P extends Place = Chat> = { readonly chat: P['id']; readonly text: string };

type Manners<P extends Place> = {
  /** The longest pause between two messages. */
  readonly pauseMs: number;
  /** Whether so many messages wait that nobody writes more. */
  readonly isEnough: (talk: Talk<P>) => boolean;
  readonly say: (place: P, text: string) => void;
  readonly answerTo: (text: string) => string;
  /** The bot's answers so far. */
  readonly answers: () => readonly { readonly text: string }[];
};

export class Talk<P extends Place = Chat> {
  readonly said: Saying<P>[] = [];
  readonly #places: readonly P[];
  readonly #random: () => number;
  readonly #manners: Manners<P>;

  constructor(places: readonly P[], random: () => number, manners: Manners<P>) {
    this.#places = places;
    this.#random = random;
    this.#manners = manners;
  }

  /** People talk until that settles. */
  async until(over: Promise<void>): Promise<void> {
    const { pauseMs, isEnough } = this.#manners;
    const state = { over: false };
    const ended = over.finally(() => (state.over = true));
    while (!state.over) {
      await Promise.race([ended, pause(this.#random() * pauseMs)]);
      if (isEnough(this)) continue;
      this.#say(this.#places[Math.floor(this.#random() * this.#places.length)]!);
    }
    await ended;
  }

  /** Sends a message in each place. */
  everywhere(): void {
    for (const place of this.#places) this.#say(place);
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

  #say(place: P): void {
    const text = `${this.said.length}`;
    this.#manners.say(place, text);
    this.said.push({ chat: place.id, text });
  }
}

/** Returns private chats of this many people with the bot. */
export function privateChats(telegram: FakeTelegram, people: number): readonly Chat[] {
  const names = Array.from({ length: people }, (_, at) => `Person ${at}`);
  return names.map((name) => telegram.privateChat(telegram.person(name)));
}
