/** One order from the question to the end: asker, strangers, approver, late deciders. */
import assert from 'node:assert/strict';
import type { Chat, User } from '../../fake/telegram/wire.ts';
import { post } from '../../support/program.ts';
import type { OrderKey } from './orders.ts';
import type { Put } from './people.ts';
import type { Scene } from './scene.ts';
import { until } from '../../support/waiting.ts';

export type Verdict = 'approved' | 'refused';
/** The verdict of a decider, whether it counts or not. */
export type Word = {
  readonly key: OrderKey;
  readonly verdict: Verdict;
  /** Milliseconds since 1970. */
  readonly at: number;
};

const verbs = { approved: 'approve', refused: 'refuse' } as const;
const labels = { approved: 'Approve', refused: 'Refuse' } as const;

/**
 * The decider: the operator, an approver who writes or presses a button in a private chat, two
 * deciders at the same time, or nobody before the time is over.
 */
export const ways = ['operator', 'writes', 'presses', 'two', 'nobody'] as const;

export type Way = (typeof ways)[number];

export type Order = {
  readonly number: number;
  readonly way: Way;
  readonly verdict: Verdict;
  /** After a yes the model wants another call. */
  readonly changes: boolean;
  /** The group of the question; null: it is asked at the webhook. */
  readonly group: Chat | null;
};

/** The deeds of people outside of svc. */
export class Deeds {
  readonly words: Word[] = [];
  /** The verdicts that svc confirmed to deciders, by call; more than one is a fault. */
  readonly decided = new Map<OrderKey, Verdict[]>();
  /** Attempts of strangers, of late deciders, and of people without the token. */
  readonly tries = { strangers: 0, late: 0, intruders: 0 };
  /** Orders that wait until their time is over, each with the function that ends its wait. */
  readonly waiting = new Map<number, () => void>();
  /** How often svc was struck; each strike costs a start. */
  strikes = 0;
  /** Late verdicts on the messenger; svc answers each of them. */
  lateWritten = 0;
}

export class Life {
  readonly #scene: Scene;
  readonly #deeds: Deeds;
  readonly #order: Order;

  constructor(scene: Scene, deeds: Deeds, order: Order) {
    this.#scene = scene;
    this.#deeds = deeds;
    this.#order = order;
  }

  /** Resolves when all calls of the order have an end. */
  async run(): Promise<void> {
    const { number, changes, way } = this.#order;
    if (changes) this.#scene.changing.add(number);
    await this.#ask();
    await this.#settle(`${number}.1`, way);
    if (!this.#isAsked(`${number}.2`)) return;
    // The model wants another call than the approved one.
    await this.#settle(`${number}.2`, way === 'nobody' ? 'writes' : way);
  }

  async #ask(): Promise<void> {
    const { number, group } = this.#order;
    const { people, services, random } = this.#scene;
    const text = `pay ${number}`;
    if (group !== null) {
      const { username } = people.telegram.bot;
      return void people.telegram.say(group, `@${username} ${text}`);
    }
    const message = { sender_id: `c${number}`, text };
    const { instances } = services;
    await until(`${text} is accepted`, async () => {
      const { port } = instances[Math.floor(random() * instances.length)]!;
      const url = `http://127.0.0.1:${port}/webhook`;
      const answer = await post(url, message, { 'webhook-id': text }).catch(() => null);
      return answer?.status === 200;
    });
  }

  async #settle(key: OrderKey, way: Way): Promise<void> {
    const { random } = this.#scene;
    await this.#until(`a question for ${key}`, () => this.#isAsked(key));
    if (random() < 0.5) await this.#tryInVain(key);
    await this.#decide(key, way);
    await this.#until(`an end of ${key}`, () => this.#isOver(key));
    if (random() < 0.5) await this.#tryLate(key);
  }

  #isAsked(key: OrderKey): boolean {
    return this.#scene.people.toldOf(key).some(({ kind }) => kind === 'question');
  }

  /** svc has reported the end, or its turn asks for another call. */
  #isOver(key: OrderKey): boolean {
    if (this.#scene.people.toldOf(key).some(({ kind }) => kind === 'end')) return true;
    return key.endsWith('.1') && this.#isAsked(`${this.#order.number}.2`);
  }

  async #decide(key: OrderKey, way: Way): Promise<void> {
    const { verdict, number } = this.#order;
    switch (way) {
      case 'operator':
        return this.#operatorSays(key, verdict);
      case 'writes':
      case 'presses':
        return this.#approverSays(key, verdict, way);
      case 'two':
        return this.#twoSay(key);
      case 'nobody':
        // Its end is awaited from then on: the strike that lets time pass may come late.
        if (this.#isOver(key)) return;
        return new Promise((resolve) => this.#deeds.waiting.set(number, resolve));
      default:
        return way satisfies never;
    }
  }

  async #operatorSays(key: OrderKey, verdict: Verdict, instance?: number): Promise<void> {
    const { office, services, moments } = this.#scene;
    const id = await office.idOf(key);
    this.#word(key, verdict);
    const first = instance === undefined ? undefined : services.instances[instance];
    if ((await office.decide(id, verbs[verdict], first)) === 'late') return;
    const decided = this.#deeds.decided.get(key) ?? [];
    this.#deeds.decided.set(key, [...decided, verdict]);
    moments.note('decided');
  }

  /** Decides in a private chat, or in the group of the question. */
  async #approverSays(key: OrderKey, verdict: Verdict, way: 'writes' | 'presses'): Promise<void> {
    const { people, random } = this.#scene;
    const approver = this.#anApprover();
    const { group } = this.#order;
    const chat = group !== null && random() < 0.5 ? group : people.telegram.privateChat(approver);
    const put = await this.#put(chat, key);
    if (put === null) return;
    this.#word(key, verdict);
    if (way === 'presses') return people.presses(approver, put, labels[verdict]);
    const text = `/${verbs[verdict]} ${put.code}`;
    people.telegram.say(chat, random() < 0.5 ? text : text.toLowerCase(), { from: approver });
  }

  /** One says yes and one says no: of several svc each gets one of the two. */
  async #twoSay(key: OrderKey): Promise<void> {
    const { services, random } = this.#scene;
    const isSecondOperator = random() < 0.5;
    await Promise.all([
      this.#operatorSays(key, 'approved', 0),
      isSecondOperator
        ? this.#operatorSays(key, 'refused', services.instances.length - 1)
        : this.#approverSays(key, 'refused', random() < 0.5 ? 'writes' : 'presses'),
    ]);
  }

  /** Strangers try to decide; svc tells them that there is nothing for them. */
  async #tryInVain(key: OrderKey): Promise<void> {
    const { people, office } = this.#scene;
    const { tries } = this.#deeds;
    const { group } = this.#order;
    const put = await this.#put(people.telegram.privateChat(this.#anApprover()), key);
    if (put === null) return;
    const stranger = people.stranger();
    people.writes(stranger, `/approve ${put.code}`);
    tries.strangers++;
    const shown = group === null ? null : await this.#put(group, key);
    if (shown !== null) {
      people.presses(people.stranger(), shown, 'Approve');
      tries.strangers++;
    }
    await this.#until('a stranger is turned away', () => people.isTurnedAway(stranger));
    await office.intrude(await office.idOf(key));
    tries.intruders++;
  }

  /** A verdict after the end changes nothing. */
  async #tryLate(key: OrderKey): Promise<void> {
    const { people, office } = this.#scene;
    const approver = this.#anApprover();
    const put = people.putIn(people.telegram.privateChat(approver), key);
    if (put !== undefined) {
      people.writes(approver, `/approve ${put.code}`);
      people.presses(approver, put, 'Refuse');
      this.#deeds.lateWritten += 2;
    }
    const id = await office.idOf(key);
    for (const verb of ['approve', 'refuse'] as const) {
      assert.equal(await office.decide(id, verb), 'late', `${verb} after the end of ${key}`);
    }
    this.#deeds.tries.late += put === undefined ? 2 : 4;
  }

  /** Returns the question in that chat; null: its time was over before. */
  async #put(chat: Pick<Chat, 'id'>, key: OrderKey): Promise<Put | null> {
    const { people } = this.#scene;
    const isThere = (): boolean => people.putIn(chat, key) !== undefined || this.#isOver(key);
    await this.#until(`${chat.id} is asked about ${key}`, isThere);
    return people.putIn(chat, key) ?? null;
  }

  /** Waits anew where svc was struck meanwhile: on a slow machine its start takes long. */
  async #until(what: string, look: () => boolean): Promise<void> {
    for (;;) {
      const { strikes } = this.#deeds;
      try {
        return await until(what, look);
      } catch (error) {
        if (this.#deeds.strikes === strikes) throw error;
      }
    }
  }

  #anApprover(): User {
    const { people, random } = this.#scene;
    return people.approvers[Math.floor(random() * people.approvers.length)]!;
  }

  #word(key: OrderKey, verdict: Verdict): void {
    this.#deeds.words.push({ key, verdict, at: Date.now() });
  }
}
