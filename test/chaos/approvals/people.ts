/**
 * People on the webhook and on Telegram: askers, approvers, and strangers. They record each text
 * from svc once, however often it came.
 */
import { startFakeTelegram, type FakeTelegram } from '../../fake/telegram.ts';
import type { Sent } from '../../fake/telegram/methods.ts';
import type { Chat, User } from '../../fake/telegram/wire.ts';
import type { Received, Receiver } from '../../fake/receiver.ts';
import type { Moments } from './moments.ts';
import { keyOf, type OrderKey } from './orders.ts';

/** A question, or the result of a call, as the asker gets it. */
export type Told = {
  readonly key: OrderKey;
  readonly kind: 'question' | 'end';
  readonly text: string;
};

/** A question in an approver's chat. */
export type Put = { readonly code: string; readonly sent: Sent };

const approversMax = 2;
/** The answers of svc to commands. */
const ofCommand =
  /^(Approved|Refused): |^That was decided before|^It is too late|^There is nothing/;
/** Answers to a verdict without effect: the call is decided already, or its time is over. */
const late = /^That was decided before|^It is too late/;
const nothing = 'There is nothing under this code that you may decide.';

export class People implements AsyncDisposable {
  readonly telegram: FakeTelegram;
  readonly approvers: readonly User[];
  readonly told: Told[] = [];
  /** Texts to askers that nothing accounts for. */
  readonly strange: string[] = [];
  /** The number of messages in chats that match `late`. */
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

  /** Returns a group with the bot in it. */
  group(name: string): Chat {
    const chat = this.telegram.supergroup(name);
    this.#groups.add(chat.id);
    return chat;
  }

  stranger(): User {
    return this.telegram.person(`Stranger ${this.#strangers++}`);
  }

  /** A person writes in a private chat with the bot. */
  writes(person: User, text: string): void {
    this.telegram.say(this.telegram.privateChat(person), text);
  }

  /** The question about the call in that chat; undefined: none yet. */
  putIn({ id }: Pick<Chat, 'id'>, key: OrderKey): Put | undefined {
    this.#look();
    return this.#put.get(`${id} ${key}`);
  }

  /** Presses a button of the question as it first looked. */
  presses(person: User, { sent }: Put, label: 'Approve' | 'Refuse'): void {
    this.telegram.press(person, sent.message, label);
  }

  isTurnedAway({ id }: Pick<User, 'id'>): boolean {
    this.#look();
    return this.#turnedAway.has(id);
  }

  /** The texts that askers got about the call. */
  toldOf(key: OrderKey): readonly Told[] {
    this.#look();
    return this.told.filter((one) => one.key === key);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.telegram[Symbol.asyncDispose]();
  }

  /** Reads the new messages. */
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
    // Telegram has no mark for repeats: the same words a second time are a repeat.
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
