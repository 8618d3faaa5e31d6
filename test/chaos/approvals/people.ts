/**
 * People on the webhook and on Telegram: those who ask, those who may decide, and strangers. All
 * that they are told is kept here, each thing once however often it came.
 */
import { startFakeTelegram, type FakeTelegram } from '../../fake/telegram.ts';
import type { Sent } from '../../fake/telegram/methods.ts';
import type { Chat, User } from '../../fake/telegram/wire.ts';
import type { Received, Receiver } from '../../fake/receiver.ts';
import type { Moments } from './moments.ts';
import { keyOf, type OrderKey } from './orders.ts';

/** A question, or what became of one, as whoever asked is told it. */
export type Told = {
  readonly key: OrderKey;
  readonly kind: 'question' | 'end';
  readonly text: string;
};

/** A question in a chat where somebody may decide. */
export type Put = { readonly code: string; readonly sent: Sent };

const approversMax = 2;
/** What svc says to a command, beside what is told of a call. */
const ofCommand =
  /^(Approved|Refused): |^That was decided before|^It is too late|^There is nothing/;
/** What is said of a decision that was none: it is decided already, or its time is over. */
const late = /^That was decided before|^It is too late/;
const nothing = 'There is nothing under this code that you may decide.';

export class People implements AsyncDisposable {
  readonly telegram: FakeTelegram;
  readonly approvers: readonly User[];
  readonly told: Told[] = [];
  /** What those who asked were told, and nothing accounts for. */
  readonly strange: string[] = [];
  /** Answers of svc's own, by the chat, that say so. */
  lateAnswers = 0;
  readonly #receiver: Receiver;
  readonly #moments: Moments;
  readonly #groups = new Set<number>();
  readonly #put = new Map<string, Put>();
  readonly #turnedAway = new Set<number>();
  readonly #seen = new Set<string>();
  #looked = { received: 0, sent: 0 };
  #strangers = 0;

  private constructor(telegram: FakeTelegram, receiver: Receiver, moments: Moments) {
    this.telegram = telegram;
    this.#receiver = receiver;
    this.#moments = moments;
    this.approvers = Array.from({ length: approversMax }, (_, at) =>
      telegram.person(`Approver ${at}`),
    );
    for (const person of this.approvers) telegram.privateChat(person);
  }

  static async open(receiver: Receiver, moments: Moments, random: () => number): Promise<People> {
    const telegram = await startFakeTelegram({ secondMs: 20, random });
    return new People(telegram, receiver, moments);
  }

  /** A group with the bot in it. */
  group(name: string): Chat {
    const chat = this.telegram.supergroup(name);
    this.#groups.add(chat.id);
    return chat;
  }

  stranger(): User {
    return this.telegram.person(`Stranger ${this.#strangers++}`);
  }

  /** Somebody writes, alone with the bot. */
  writes(person: User, text: string): void {
    this.telegram.say(this.telegram.privateChat(person), text);
  }

  /** What that chat was asked about the call; undefined: nothing yet. */
  putIn({ id }: Pick<Chat, 'id'>, key: OrderKey): Put | undefined {
    this.#look();
    return this.#put.get(`${id} ${key}`);
  }

  /** Presses a button of the question as it was first seen. */
  presses(person: User, { sent }: Put, label: 'Approve' | 'Refuse'): void {
    this.telegram.press(person, sent.message, label);
  }

  isTurnedAway({ id }: Pick<User, 'id'>): boolean {
    this.#look();
    return this.#turnedAway.has(id);
  }

  /** What those who asked were told of the call. */
  toldOf(key: OrderKey): readonly Told[] {
    this.#look();
    return this.told.filter((one) => one.key === key);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.telegram[Symbol.asyncDispose]();
  }

  /** Reads what came since. */
  look(): void {
    this.#look();
  }

  #look(): void {
    const { received } = this.#receiver;
    for (; this.#looked.received < received.length; this.#looked.received++) {
      this.#hear(received[this.#looked.received]!);
    }
    const { sent } = this.telegram;
    for (; this.#looked.sent < sent.length; this.#looked.sent++)
      this.#see(sent[this.#looked.sent]!);
  }

  /** On the webhook each reply has an id. */
  #hear({ body, headers }: Received): void {
    this.#keep(String(headers['webhook-id']), String(body['text']));
  }

  #see(sent: Sent): void {
    const { chatId, text } = sent;
    if (late.test(text)) this.lateAnswers++;
    if (/^(Approved|Refused):/.test(text)) this.#moments.note('decided');
    if (text === nothing) this.#turnedAway.add(chatId);
    const [key, code] = [keyOf(text), /\/approve (\w{10})/.exec(text)?.[1]];
    if (key !== null && code !== undefined) {
      const where = `${chatId} ${key}`;
      if (!this.#put.has(where)) this.#put.set(where, { code, sent });
    }
    // On Telegram nothing marks what came before: of the same words the second is a repeat.
    if (this.#groups.has(chatId)) this.#keep(`${chatId} ${text}`, text);
  }

  #keep(id: string, text: string): void {
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    const key = keyOf(text);
    if (key === null) {
      if (!ofCommand.test(text)) this.strange.push(text);
      return;
    }
    const kind = text.startsWith('told ') ? 'end' : 'question';
    this.told.push({ key, kind, text });
    this.#moments.note(kind === 'end' ? 'told' : 'asked');
  }
}
