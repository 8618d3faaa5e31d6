import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whenLate } from './late.ts';

/** Shorter than the pauses below, however slow the machine is. */
const lateMs = 5;

/** Blocks the whole process. */
function stand(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what was answered during a pause of the process is not late', async () => {
  let lates = 0;
  const end = whenLate(lateMs, () => lates++);
  const timer = new Promise<void>((resolve) => setTimeout(() => setImmediate(resolve), lateMs));
  stand(4 * lateMs);
  // The process reads the answer after the timers, and before `late` is called.
  await timer;
  end();
  for (let n = 0; n < 9; n++) await turn();
  assert.equal(lates, 0);
});

test('what is not answered is late once', async () => {
  let lates = 0;
  await new Promise<void>((resolve) => {
    whenLate(lateMs, () => {
      lates++;
      resolve();
    });
  });
  for (let n = 0; n < 9; n++) await turn();
  assert.equal(lates, 1);
});
