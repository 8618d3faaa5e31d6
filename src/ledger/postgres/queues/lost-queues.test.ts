import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueueName } from './row-pages.ts';
import { LostQueues } from './owned-queues.ts';

const ann: QueueName = { channel: 'webhook', conversation: 'ann' };

test('who died is cleaned up once all its queues are free, and not before', async () => {
  const buried: unknown[] = [];
  let isFree = false;
  const page = [{ ...ann }, { channel: null, conversation: null, last: 'x', rows: 1 }];
  const lost = new LostQueues({
    reads: { ask: async () => page } as never,
    takesParked: () => false,
    free: async () => isFree,
    write: async (_text, [dead]) => (buried.push(dead), true),
  });
  await lost.check([7]);
  assert.deepEqual(buried, []);
  isFree = true;
  await lost.check([7]);
  assert.deepEqual(buried, [[7]]);
});
