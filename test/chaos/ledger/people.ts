/** People's requests: replay or discard dead letters, forget a conversation or a sender. */
import assert from 'node:assert/strict';
import type { ChannelKey, ConversationId } from '../../../src/domain/ids.ts';
import type { MessageOwner } from '../../../src/domain/story.ts';
import type { Effects, InClaim } from '../../../src/ledger/ledger.ts';
import { NoteReference, scopes } from './notes.ts';
import type { Reference } from './reference.ts';
import { tryNow, type MessageRow } from './rows.ts';
import type { World } from './worlds.ts';

const nobody = '0000000000000000000000';

export class People {
  readonly #world: World;
  readonly #model: Reference;
  readonly #notes = new NoteReference();

  constructor(world: World, model: Reference) {
    this.#world = world;
    this.#model = model;
  }

  /** @returns a report of the deed; null: there was nothing to do */
  async ask(
    kind: 'tryNow' | 'replay' | 'discard' | 'forget',
    dice: readonly number[],
  ): Promise<string | null> {
    const { people, durable } = this.#world;
    if (!people) return null;
    if (kind === 'forget') return this.#forget(dice);
    if (kind === 'tryNow') return this.#tryNow(dice);
    const { dead } = this.#model;
    const [die = 0, unknown = 0] = dice;
    const id = unknown > 0.9 ? nobody : dead[Math.floor(die * dead.length)]?.id.slice(0, 22);
    if (id === undefined) return null;
    // The answer to a discarded message is svc's own sentence, and belongs to nobody any more.
    const rows = [...this.#model.outbox, ...dead];
    const answered = rows.some((row) => row.box === 'out' && row.reply.inReplyTo === id);
    if (kind === 'discard' && answered) return null;
    const answer = await this.#world.during(this.#world.ledger[kind](id));
    assert.equal(answer, durable ? this.#model[kind](id) : 'not_kept', kind);
    return `${kind} ${id}`;
  }

  async #tryNow([die = 0, unknown = 0]: readonly number[]): Promise<string | null> {
    const { outbox } = this.#model;
    const id = unknown > 0.9 ? nobody : outbox[Math.floor(die * outbox.length)]?.id;
    if (id === undefined) return null;
    const moving = this.#world.ledger.deferred.tryNow({ kind: 'one', id }, 1);
    const moved = tryNow(outbox, id, this.#world.now);
    assert.deepEqual(await this.#world.during(moving), { kind: 'moved', moved, more: false });
    return `try ${id} now`;
  }

  async #forget([die = 0, by = 0]: readonly number[]): Promise<string | null> {
    const rows = [...this.#model.inbox, ...this.#model.outbox];
    const row = rows[Math.floor(die * rows.length)];
    if (row === undefined) return null;
    const { channel, queue } = row;
    const [, conversation] = queue.split(' ') as [string, ConversationId];
    const sender = senderOf(conversation);
    const on = { channel: channel as ChannelKey };
    const whose: MessageOwner =
      by < 0.7 ? { ...on, kind: 'conversation', conversation } : { ...on, kind: 'sender', sender };
    const queues = this.#model.queuesOf((one) => {
      const [where, other] = one.split(' ') as [string, string];
      if (where !== channel) return false;
      if (whose.kind === 'conversation') return other === conversation;
      return senderOf(other) === sender && this.#model.knowsSenderOf(one);
    });
    this.#notes.forget(queues);
    const expected = this.#model.forget(queues, whose.kind);
    if (whose.kind === 'conversation') this.#model.held.delete(`${channel} ${conversation}`);
    const deleted = await this.#world.during(this.#world.ledger.forget(whose));
    assert.equal(deleted, expected, 'how much was forgotten');
    return `forget ${whose.kind} ${whose.kind === 'sender' ? sender : conversation} on ${channel}`;
  }

  /** Records the effects of an ended turn. */
  finished({ queue }: MessageRow, effects: Effects | null): void {
    if (this.#world.durable) this.#notes.finish(queue, effects?.notes ?? []);
  }

  /** Compares the notes and recalled turns of a message at work with the reference. */
  async recall(claim: InClaim, row: MessageRow, dice: readonly number[]): Promise<boolean> {
    for (const scope of scopes) {
      const notes = await this.#world.ledger.notes(claim, scope);
      assert.deepEqual(notes, this.#notes.of(row.queue, scope), `notes of the ${scope.kind}`);
    }
    const n = 1 + Math.floor(dice[1]! * 8);
    const expected = this.#model.recall(row, n);
    if (!this.#world.people || expected === null) return false;
    assert.deepEqual(await this.#world.ledger.recall(claim, n), expected, 'what is recalled');
    return true;
  }
}

/** Each conversation has one sender, a sender several conversations. */
export function senderOf(conversation: string): string {
  return `s${Number(conversation.slice(1)) % 3}`;
}
