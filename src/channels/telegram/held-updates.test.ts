import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SteadyTime } from '../../lib/clock.ts';
import { HeldUpdates, heldMax, heldMaxMs } from './polling.ts';

function start() {
  const clock = { now: 0 as SteadyTime };
  const held = new HeldUpdates(() => clock.now);
  const settle: (() => void)[] = [];
  const add = (id: number): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    settle[id] = resolve;
    held.add(id, promise);
  };
  const settled = async (id: number): Promise<void> => {
    settle[id]!();
    await new Promise(setImmediate);
    held.confirmSafe();
  };
  return { clock, held, add, settled };
}

test('nothing is confirmed before the oldest is safe, then all that is safe', async () => {
  const { held, add, settled } = start();
  for (const id of [5, 6, 7]) add(id);
  await settled(6);
  assert.equal(held.offset, 5);
  await settled(5);
  assert.equal(held.offset, 7);
  await settled(7);
  assert.deepEqual([held.offset, held.isEmpty, held.confirmedEarlyCount], [8, true, 0]);
});

test('what is no message is confirmed with those around it', async () => {
  const { held, add, settled } = start();
  held.add(1, null);
  add(2);
  held.add(3, null);
  held.confirmSafe();
  assert.equal(held.offset, 2);
  await settled(2);
  assert.equal(held.offset, 4);
});

test('an update that comes again while it is held is known', () => {
  const { held, add } = start();
  add(5);
  assert.deepEqual([held.has(4), held.has(5), held.has(6)], [true, true, false]);
});

test('what is held for 20 s is let go and counted, whatever it becomes later', async () => {
  const { clock, held, add, settled } = start();
  add(1);
  clock.now = (heldMaxMs - 1) as SteadyTime;
  add(2);
  held.confirmWithinLimits();
  assert.equal(held.offset, 1);
  clock.now = heldMaxMs as SteadyTime;
  held.confirmWithinLimits();
  assert.deepEqual([held.offset, held.confirmedEarlyCount], [2, 1]);
  await settled(1);
  assert.deepEqual([held.offset, held.confirmedEarlyCount], [2, 1]);
  const safe = held.allSafe();
  await settled(2);
  await safe;
});

test('of more than 80 the oldest are let go and counted', () => {
  const { held, add } = start();
  for (let id = 1; id <= heldMax + 20; id++) add(id);
  held.confirmSafe();
  assert.deepEqual([held.offset, held.confirmedEarlyCount], [1, 0], 'they get a moment first');
  held.confirmWithinLimits();
  assert.deepEqual([held.offset, held.confirmedEarlyCount], [21, 20]);
});

test('an offset is forgotten once Telegram has nothing more: ids may begin anew', async () => {
  const { held, add, settled } = start();
  add(900);
  held.confirmed();
  assert.equal(held.offset, 900);
  await settled(900);
  held.confirmed();
  assert.equal(held.offset, null);
  assert.equal(held.has(3), false);
});
