/** The last write of figures, and the end of the storage. */
import { minuteMs } from '../../../lib/durations.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Figures } from './figures.ts';

const row = { lengthMs: minuteMs, at: 0, run: 1, body: '{}' } as const;

/** A connection that answers when the test calls `answer`. */
function start() {
  const { promise, resolve, reject } = Promise.withResolvers<[]>();
  const figures = new Figures({ ask: () => promise, [Symbol.asyncDispose]: async () => {} });
  return { figures, answer: () => resolve([]), fail: () => reject(new Error('it is closed')) };
}

test('the storage ends after what it was asked to keep last', async () => {
  const { figures, answer } = start();
  const kept = figures.keep([row]);
  let isOver = false;
  const over = figures[Symbol.asyncDispose]().then(() => (isOver = true));
  await new Promise(setImmediate);
  assert.equal(isOver, false);
  answer();
  assert.equal(await kept, true);
  await over;
});

test('what cannot be kept is told so, and keeps nothing from its end', async () => {
  const { figures, fail } = start();
  const kept = figures.keep([row]);
  fail();
  assert.equal(await kept, false);
  await figures[Symbol.asyncDispose]();
});
