/** An operator in a walk, who takes conversations over, answers messages, and hands back. */
import assert from 'node:assert/strict';
import { takeoverMs } from '../../../src/domain/takeover.ts';
import type { ChannelKey, ConversationId } from '../../../src/domain/ids.ts';
import type { ConversationKey } from '../../../src/domain/story.ts';
import type { TakeoverMessage, Effects, InClaim } from '../../../src/ledger/ledger.ts';
import type { Reference } from './reference.ts';
import { effectsOf, short } from './turns.ts';
import type { World } from './worlds.ts';

export type HandKind = 'hold' | 'byHand' | 'giveBack';

export class Hands {
  readonly #world: World;
  readonly #model: Reference;

  constructor(world: World, model: Reference) {
    this.#world = world;
    this.#model = model;
  }

  /** @returns a report of the deed; null: there was nothing to do */
  async take(kind: HandKind, dice: readonly number[]): Promise<string | null> {
    const held = [...this.#model.held.keys()].filter(this.#model.isHeld);
    const waiting = this.#model.inbox.map(({ queue }) => queue);
    const queue = pick(kind === 'hold' ? waiting : held, dice[0]!);
    if (queue === undefined) return null;
    const [channel = '', conversation = ''] = queue.split(' ');
    const where = {
      channel: channel as ChannelKey,
      conversation: conversation as ConversationId,
    };
    if (kind === 'hold') await this.#hold(where, queue);
    else if (kind === 'giveBack') await this.#giveBack(where, queue);
    else await this.#answer(where, queue, dice);
    return `${kind} ${queue}`;
  }

  async #hold(where: ConversationKey, queue: string): Promise<void> {
    const { takeovers } = this.#world.ledger;
    assert.equal(typeof (await this.#world.during(takeovers.hold(where))), 'object', 'it is held');
    for (const row of this.#model.inbox) {
      if (row.queue !== queue || this.#model.isHeld(queue)) continue;
      Object.assign(row, { claimed: false, givenBack: false, readySince: null });
    }
    this.#model.held.set(queue, this.#world.now + takeoverMs);
  }

  async #giveBack(where: ConversationKey, queue: string): Promise<void> {
    const { takeovers } = this.#world.ledger;
    assert.equal(await this.#world.during(takeovers.giveBack(where)), 'done', 'it is given back');
    this.#model.held.delete(queue);
  }

  async #answer(where: ConversationKey, queue: string, dice: readonly number[]): Promise<void> {
    const { takeovers } = this.#world.ledger;
    const rows = this.#model.inbox.filter((row) => row.queue === queue);
    const named = dice[1]! > 0.2 ? pick(rows, dice[2]!) : undefined;
    const last = named ?? rows[0];
    const upTo = named?.id ?? null;
    const due = last === undefined ? [] : rows.slice(0, rows.indexOf(last) + 1);
    const made: string[] = [];
    const answering = takeovers.answer(where, upTo, (one, isLast) => {
      made.push(one.message.id);
      return this.#effects(one, isLast, dice);
    });
    const answered = await this.#world.during(answering);
    const ids = due.map(({ id }) => id);
    assert.deepEqual(made, ids, 'these messages, in their order');
    if (ids.length === 0) return assert.equal(answered.kind, 'nothing_to_answer');
    assert.ok(answered.kind === 'answered', answered.kind);
    assert.deepEqual(answered.messages, ids);
    this.#model.held.set(queue, this.#world.now + takeoverMs);
  }

  /** Each message sees the effects of those before it. */
  #effects(one: TakeoverMessage, isLast: boolean, dice: readonly number[]): Effects {
    const row = this.#model.inbox.find(({ id }) => id === one.message.id);
    assert.ok(row !== undefined, `${short(one.message.text)} does not wait`);
    assert.deepEqual(one.message, row.message);
    assert.equal(one.attempt, row.attempt, 'the number of the attempt');
    const expected = this.#model.memoryOf(row);
    if (!this.#model.unsureOf(row)) assert.deepEqual(one.memory, expected, 'by hand, remembered');
    const whole = effectsOf(this.#world, one as InClaim, [0, 0.5, ...dice.slice(2)]);
    const spared = { imported: null, leftOut: [], doubted: [], notes: [] };
    const effects = { ...whole, ...spared, ...(isLast ? {} : { replies: [] }) };
    this.#model.finish(row, effects, false);
    return effects;
  }
}

function pick<T>(all: readonly T[], die: number): T | undefined {
  return all[Math.floor(die * all.length)];
}
