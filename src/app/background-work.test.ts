import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackgroundWork } from './approval-upkeep.ts';

test('it looks again when it is due, and when a look has failed', async () => {
  const [looked, failures]: [number[], unknown[]] = [[], []];
  const thrice = Promise.withResolvers<void>();
  const work = new BackgroundWork({
    pass: () => {
      looked.push(looked.length);
      if (looked.length === 1) return Promise.resolve(1);
      if (looked.length === 2) return Promise.reject(new Error('away'));
      thrice.resolve();
      return Promise.resolve(60_000);
    },
    failed: (error) => void failures.push(error),
    againMs: 1,
  });
  work.wake();
  await thrice.promise;
  work.end();
  assert.equal(failures.length, 1);
});

test('who wakes it while it looks is heard after it, once; none is when it is over', async () => {
  const looks: PromiseWithResolvers<number>[] = [];
  const look = (): Promise<number> => {
    const one = Promise.withResolvers<number>();
    looks.push(one);
    return one.promise;
  };
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const work = new BackgroundWork({ pass: look, failed, againMs: 60_000 });
  for (let times = 0; times < 3; times++) work.wake();
  assert.equal(looks.length, 1);
  looks[0]!.resolve(60_000);
  await new Promise(setImmediate);
  assert.equal(looks.length, 2);
  work.wake();
  work.end();
  looks[1]!.reject(new Error('it ended'));
  await new Promise(setImmediate);
  assert.deepEqual([looks.length, failures, work.over.aborted], [2, [], true]);
});
