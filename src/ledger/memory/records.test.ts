import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey, MessageId, ReplyId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { memoryRecords } from './reader.ts';
import type { InRow } from '../engine/queue.ts';
import { StoryRing, type KeptStory, type MadeReply } from './story-ring.ts';

/** A ring that counts the entries that are read. */
class CountedRing extends StoryRing {
  looks = 0;

  override *before(place: number): Generator<KeptStory> {
    for (const story of super.before(place)) {
      this.looks++;
      yield story;
    }
  }

  override *madeBefore(number: number): Generator<MadeReply> {
    for (const made of super.madeBefore(number)) {
      this.looks++;
      yield made;
    }
  }
}

/**
 * A ring whose messages are `m1`, `m2`, …. A reply is named `r`, the number of its message, and its
 * part.
 */
function ringOf(size: number) {
  const ring = new CountedRing(size);
  const records = memoryRecords(ring);
  const channel = 'webhook' as ChannelKey;
  const places: number[] = [];
  return {
    ring,
    accept(count: number): void {
      for (let at = 0; at < count; at++) {
        const id = `m${places.length + 1}` as MessageId;
        places.push(ring.accepted({ id, channel, acceptedAt: places.length } as Message));
      }
    },
    settle(message: number, parts = 1): void {
      const row = { progress: { story: places[message - 1] }, attempt: 1 } as InRow;
      const replies = Array.from({ length: parts }, (_, part) => {
        return { id: `r${message}-${part}` as ReplyId, createdAt: 7 } as Reply;
      });
      ring.settled(row, 7, null, { replies, trace: null });
    },
    async messages(limit: number, state: 'waiting' | null = null) {
      ring.looks = 0;
      const any = { channel: null, brain: null, outcome: null, since: null, until: null };
      const { rows } = await records.messages({ ...any, state }, { after: null, limit });
      return rows.map(({ id }) => id);
    },
    async deliveries(limit: number, after: string | null = null) {
      ring.looks = 0;
      const any = { channel: null, state: null };
      const { rows, next } = await records.deliveries(any, { after, limit });
      return { ids: rows.map(({ id }) => id), next };
    },
  };
}

test('a page is read from where it begins, and no further than it goes', async () => {
  const it = ringOf(1_000);
  it.accept(2_500);
  for (let message = 1_501; message <= 2_500; message++) it.settle(message, 2);
  assert.deepEqual(await it.messages(2), ['m2500', 'm2499']);
  assert.equal(it.ring.looks, 3);
  assert.deepEqual((await it.deliveries(2)).ids, ['r2500-1', 'r2500-0']);
  assert.equal(it.ring.looks, 3);
  assert.deepEqual(await it.messages(2, 'waiting'), []);
  assert.equal(it.ring.looks, 1_000);
});

test('deliveries come as their replies were made, whichever message came first', async () => {
  const it = ringOf(10);
  it.accept(3);
  for (const message of [2, 3, 1]) it.settle(message, message === 3 ? 3 : 1);
  const first = await it.deliveries(2);
  assert.deepEqual(first.ids, ['r1-0', 'r3-2']);
  const second = await it.deliveries(2, first.next);
  assert.deepEqual(second.ids, ['r3-1', 'r3-0']);
  assert.deepEqual(await it.deliveries(2, second.next), { ids: ['r2-0'], next: null });
});

test('a forgotten message takes its replies along; of very many the newest are told', async () => {
  const it = ringOf(3);
  it.accept(3);
  for (const message of [1, 2, 3]) it.settle(message);
  it.accept(1);
  assert.deepEqual((await it.deliveries(9)).ids, ['r3-0', 'r2-0']);
  it.settle(4, 5);
  assert.deepEqual((await it.deliveries(9)).ids, ['r4-4', 'r4-3', 'r4-2', 'r4-1', 'r4-0', 'r3-0']);
});
