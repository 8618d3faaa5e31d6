import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { Cleanup } from './growing-message.ts';

function start(remove: (tries: number) => boolean = () => false) {
  const clock = handClock();
  const tried: string[] = [];
  const cleanup = new Cleanup(clock.deadlines, (message) => {
    tried.push(message);
    return Promise.resolve(remove(tried.length));
  });
  return {
    cleanup,
    tried,
    /** Passes that much time, and waits until all due work has run. */
    later: async (ms: number): Promise<void> => {
      clock.pass(ms);
      await new Promise<void>((resolve) => void clock.deadlines.after(0, resolve));
      await new Promise(setImmediate);
    },
  };
}

test('taking away is tried again while that may help, four times in all', async () => {
  const it = start((tries) => tries < 3);
  await it.cleanup.remove('a');
  await it.later(0);
  assert.equal(it.tried.length, 1);
  for (const ms of [2_000, 10_000, 60_000]) await it.later(ms);
  assert.deepEqual(it.tried, ['a', 'a', 'a']);
  const hopeless = start(() => true);
  await hopeless.cleanup.remove('b');
  for (const ms of [0, 2_000, 10_000, 60_000, 60_000]) await hopeless.later(ms);
  assert.equal(hopeless.tried.length, 4);
});
