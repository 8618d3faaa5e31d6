import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pump } from './worker-pool.ts';

const broken = -1;

/** A source of numbered work whose pieces end when the test says so. */
function workshop(slots: number) {
  const waiting: number[] = [];
  const open = new Map<number, () => void>();
  const asked: number[] = [];
  const failures: unknown[] = [];
  let rests = 0;
  const pump = new Pump<number>({
    slots,
    take: async (n) => {
      asked.push(n);
      if (waiting[0] === broken) throw new Error('made to fail');
      return waiting.splice(0, n);
    },
    work: (piece) => new Promise((resolve) => open.set(piece, resolve)),
    rested: () => rests++,
    failed: (error) => failures.push(error),
  });
  const end = (piece: number): void => {
    open.get(piece)!();
    open.delete(piece);
  };
  return { waiting, open, asked, pump, end, failures, rests: () => rests };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('it takes no more than it has slots for', async () => {
  const { pump, waiting, open } = workshop(2);
  waiting.push(1, 2, 3);
  pump.wake();
  await settled();
  assert.deepEqual([...open.keys()], [1, 2]);
  assert.equal(pump.resting, false);
});

test('it asks for no more than is free beside what is under way', async () => {
  const { pump, waiting, open, asked } = workshop(2);
  waiting.push(1);
  pump.wake();
  await settled();
  waiting.push(2, 3);
  pump.wake();
  await settled();
  assert.deepEqual(asked, [2, 1]);
  assert.deepEqual([...open.keys()], [1, 2]);
});

test('a slot that becomes free is filled without another wake', async () => {
  const { pump, waiting, open, end } = workshop(2);
  waiting.push(1, 2, 3);
  pump.wake();
  await settled();
  end(1);
  await settled();
  assert.deepEqual([...open.keys()], [2, 3]);
});

test('a wake while it is full or taking is not lost', async () => {
  const { pump, waiting, open, end } = workshop(1);
  waiting.push(1);
  pump.wake();
  waiting.push(2);
  pump.wake();
  await settled();
  end(1);
  await settled();
  assert.deepEqual([...open.keys()], [2]);
});

test('what comes while it takes and finds less than it asked for is taken too', async () => {
  const { pump, waiting, open } = workshop(3);
  waiting.push(1);
  pump.wake();
  waiting.push(2);
  pump.wake();
  await settled();
  assert.deepEqual([...open.keys()], [1, 2]);
});

test('it does not ask again when the last take found less than it asked for', async () => {
  const { pump, waiting, asked, end } = workshop(8);
  waiting.push(1, 2);
  pump.wake();
  await settled();
  end(1);
  end(2);
  await settled();
  assert.deepEqual(asked, [8]);
  assert.equal(pump.resting, true);
});

test('once stopped it takes nothing more and says when it rests', async () => {
  const { pump, waiting, open, end, rests } = workshop(1);
  waiting.push(1, 2);
  pump.wake();
  await settled();
  pump.stop();
  end(1);
  pump.wake();
  await settled();
  assert.equal(open.size, 0);
  assert.deepEqual(waiting, [2]);
  assert.ok(rests() > 0);
});

test('a take that fails is told of, and the next wake takes again', async () => {
  const { pump, waiting, open, failures } = workshop(2);
  waiting.push(broken, 1);
  pump.wake();
  await settled();
  assert.equal(failures.length, 1);
  waiting.shift();
  pump.wake();
  await settled();
  assert.deepEqual([...open.keys()], [1]);
});
