import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteSemaphore } from './fair-queue.ts';
import { Stopper } from './stop.ts';

/**
 * Each task holds its bytes until the test releases it; `began` lists the tasks in the order of
 * their start.
 */
function stage(bytesMax: number) {
  const semaphore = new ByteSemaphore(bytesMax);
  const began: string[] = [];
  const ask = (name: string, bytes: number, stop = new Stopper(), whose = 'ann') => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const act = (): Promise<string> => {
      began.push(name);
      return promise.then(() => name);
    };
    return { letGo: resolve, stop, over: semaphore.within({ bytes, whose }, stop, act) };
  };
  return { semaphore, began, ask };
}

test('what has no room waits for its place, in order', async () => {
  const { began, ask } = stage(10);
  const [first, large, small] = [ask('first', 6), ask('large', 8), ask('small', 1)];
  await new Promise(setImmediate);
  assert.deepEqual(began, ['first'], 'the small one does not overtake');
  first.letGo();
  assert.equal(await first.over, 'first');
  await new Promise(setImmediate);
  assert.deepEqual(began, ['first', 'large', 'small']);
  large.letGo();
  small.letGo();
  await Promise.all([large.over, small.over]);
});

test('who is stopped leaves, and those behind have the place', async () => {
  const { began, ask } = stage(10);
  const [first, large, small] = [ask('first', 6), ask('large', 8), ask('small', 1)];
  large.stop.stop();
  assert.equal(await large.over, null);
  await new Promise(setImmediate);
  assert.deepEqual(began, ['first', 'small']);
  const late = ask('late', 1, large.stop);
  assert.equal(await late.over, null);
  for (const one of [first, small]) one.letGo();
  await Promise.all([first.over, small.over]);
});

test('one that fails gives its room back, and one that is too large has all of it', async () => {
  const { semaphore, began, ask } = stage(10);
  const failing = semaphore.within({ bytes: 10, whose: 'ann' }, new Stopper(), () =>
    Promise.reject(new Error('no')),
  );
  const huge = ask('huge', 11);
  await assert.rejects(failing, /no/);
  await new Promise(setImmediate);
  assert.deepEqual(began, ['huge']);
  huge.letGo();
  assert.equal(await huge.over, 'huge');
});

test('who asks for much does not hold up another', async () => {
  const { began, ask } = stage(10);
  const much = ['1', '2', '3'].map((name) => ask(name, 8));
  const other = ask('of another', 8, new Stopper(), 'bob');
  for (const one of [much[0]!, other, much[1]!, much[2]!]) one.letGo();
  await Promise.all([...much, other].map(({ over }) => over));
  assert.deepEqual(began, ['1', 'of another', '2', '3']);
});
