/** Numbered messages of people to a bot, each in a private chat, and the bot's answers. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Platform } from './platforms.ts';
import { until, untilAll } from '../../support/waiting.ts';

/**
 * A person with `waitingMax` open messages is silent; `betweenMs` is the longest pause of a person
 * between two messages.
 */
type Manners = { readonly waitingMax: number; readonly betweenMs: number };
const usual: Manners = { waitingMax: 20, betweenMs: 600 };

type Said = { readonly platform: Platform; readonly place: number; readonly text: string };
/** A strike that may have cut an attempt, in milliseconds since 1970. */
type Blow = { readonly from: number; to: number };

export class Talk {
  readonly said: Said[] = [];
  readonly blows: Blow[] = [];
  readonly #platforms: readonly Platform[];
  readonly #people: number;
  readonly #random: () => number;
  readonly #manners: Manners;
  #over = false;
  #speaking: Promise<void>[] = [];

  constructor(
    platforms: readonly Platform[],
    people: number,
    random: () => number,
    manners = usual,
  ) {
    this.#manners = manners;
    this.#platforms = platforms;
    this.#people = people;
    this.#random = random;
  }

  /** Everybody sends one message and is answered; then everybody goes on alone. */
  async greet(): Promise<void> {
    const places = this.#platforms.flatMap((platform) =>
      Array.from({ length: this.#people }, (_, place) => ({ platform, place })),
    );
    for (const { platform, place } of places) this.#say(platform, place, 0);
    await until('first answers', () => this.#answered() === this.said.length);
    this.#speaking = places.map(({ platform, place }) => this.#speak(platform, place));
  }

  /** Everybody stops, and waits for the remaining answers. */
  async end(): Promise<void> {
    this.leave();
    await Promise.all(this.#speaking);
    await untilAll(this.said.length, () => this.#answered());
  }

  leave(): void {
    this.#over = true;
  }

  /** Notes a strike: a reply sent during it may be sent again. */
  async during<T>(blow: Promise<T>): Promise<T> {
    const noted: Blow = { from: Date.now(), to: Infinity };
    this.blows.push(noted);
    try {
      return await blow;
    } finally {
      noted.to = Date.now();
    }
  }

  async #speak(platform: Platform, place: number): Promise<void> {
    const { waitingMax, betweenMs } = this.#manners;
    for (let number = 1; !this.#over;) {
      const answers = platform.answers().filter((one) => one.place === place).length;
      if (number - answers < waitingMax) this.#say(platform, place, number++);
      await pause(this.#random() * betweenMs);
    }
  }

  #say(platform: Platform, place: number, number: number): void {
    const text = `${platform.name}-${place} ${number}`;
    this.said.push({ platform, place, text });
    platform.say(place, text);
  }

  #answered(): number {
    const all = this.#platforms.flatMap((platform) => platform.answers());
    return new Set(all.map(({ text }) => text)).size;
  }
}

/** One answer for each message, in its chat's order; a second one only after a cut attempt. */
export function auditTalk({ said, blows }: Talk) {
  const answers = [...new Set(said.map(({ platform }) => platform))].flatMap((platform) =>
    platform
      .answers()
      .map((answer) => ({ ...answer, answered: `${platform.name}-${answer.place}` })),
  );
  const first = new Map<string, number>();
  const newest = new Map<string, number>();
  const faults = {
    lost: 0,
    'doubled alone': 0,
    'out of order': 0,
    'answers to nobody': 0,
    'in a wrong chat': 0,
  };
  const known = new Set(said.map(({ text }) => `re: ${text}`));
  let repeats = 0;
  for (const { text, at, answered } of answers) {
    const [, chat = '', number = ''] = text.split(' ');
    const before = first.get(text);
    if (!known.has(text)) faults['answers to nobody']++;
    else if (chat !== answered) faults['in a wrong chat']++;
    if (before !== undefined) {
      repeats++;
      if (!blows.some(({ from, to }) => from <= at && to >= before)) faults['doubled alone']++;
      continue;
    }
    first.set(text, at);
    if (Number(number) < (newest.get(chat) ?? -1)) faults['out of order']++;
    newest.set(chat, Number(number));
  }
  faults.lost = said.filter(({ text }) => !first.has(`re: ${text}`)).length;
  return { figures: { 'messages to bots': said.length, 'answers repeated': repeats }, faults };
}
