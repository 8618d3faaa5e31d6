import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkerPool } from './worker-pool.ts';

const broken = -1;

/** A source of numbered work; each piece ends when the test says so. */
function workshop(slots: number) {
  const waiting: number[] = [];
  const open = new Map<number, () => void>();
  const asked: number[] = [];
  const failures: unknown[] = [];
  let rests = 0;
  const workerPool = new WorkerPool<number>({
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
  return { waiting, open, asked, workerPool, end, failures, rests: () => rests };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('it takes no more than it has slots for', async () => {
  const { workerPool, waiting, open } = workshop(2);
  waiting.push(1, 2, 3);
  workerPool.wake();
  await settled();
  assert.deepEqual([...open.keys()], [1, 2]);
  assert.equal(workerPool.resting, false);
});

test('it asks for no more than is free beside what is under way', async () => {
  const { workerPool, waiting, open, asked } = workshop(2);
  waiting.push(1);
  workerPool.wake();
  await settled();
  waiting.push(2, 3);
  workerPool.wake();
  await settled();
  assert.deepEqual(asked, [2, 1]);
  assert.deepEqual([...open.keys()], [1, 2]);
});

test('a slot that becomes free is filled without another wake', async () => {
  const { workerPool, waiting, open, end } = workshop(2);
  waiting.push(1, 2, 3);
  workerPool.wake();
  await settled();
  end(1);
  await settled();
  assert.deepEqual([...open.keys()], [2, 3]);
});

test('a wake while it is full or taking is not lost', async () => {
  const { workerPool, waiting, open, end } = workshop(1);
  waiting.push(1);
  workerPool.wake();
  waiting.push(2);
  workerPool.wake();
  await settled();
  end(1);
  await settled();
  assert.deepEqual([...open.keys()], [2]);
});

test('what comes while it takes and finds less than it asked for is taken too', async () => {
  const { workerPool, waiting, open } = workshop(3);
  waiting.push(1);
  workerPool.wake();
  waiting.push(2);
  workerPool.wake();
  await settled();
  assert.deepEqual([...open.keys()], [1, 2]);
});

test('it does not ask again when the last take found less than it asked for', async () => {
  const { workerPool, waiting, asked, end } = workshop(8);
  waiting.push(1, 2);
  workerPool.wake();
  await settled();
  end(1);
  end(2);
  await settled();
  assert.deepEqual(asked, [8]);
  assert.equal(workerPool.resting, true);
});

test('once stopped it takes nothing more and says when it rests', async () => {
  const { workerPool, waiting, open, end, rests } = workshop(1);
  waiting.push(1, 2);
  workerPool.wake();
  await settled();
  workerPool.stop();
  end(1);
  workerPool.wake();
  await settled();
  assert.equal(open.size, 0);
  assert.deepEqual(waiting, [2]);
  assert.ok(rests() > 0);
});

test('a take that fails is told of, and the next wake takes again', async () => {
  const { workerPool, waiting, open, failures } = workshop(2);
  waiting.push(broken, 1);
  workerPool.wake();
  await settled();
  assert.equal(failures.length, 1);
  waiting.shift();
  workerPool.wake();
  await settled();
  assert.deepEqual([...open.keys()], [1]);
});
