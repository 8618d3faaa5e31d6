import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patienceMs } from '../../../test/support/waiting.ts';
import { watchSession } from './shell.ts';

/** @param faults the result of each check; the last one repeats for all later checks */
function watch(faults: readonly (string | null)[], everyMs = 1) {
  let looks = 0;
  const over = Promise.withResolvers<string>();
  let told = 0;
  const session = watchSession({
    displayFault: () => Promise.resolve(faults[Math.min(looks++, faults.length - 1)] ?? null),
    onOver: (why) => {
      told++;
      over.resolve(why);
    },
    everyMs,
    againMs: 1,
  });
  return { session, over: over.promise, told: () => told, looks: () => looks };
}

test('a display that does not answer three times is the end, told once', async () => {
  const { session, over, told } = watch([null, 'gone']);
  using _session = session;
  // The watch does not keep the process alive, so this timer does.
  const hold = setInterval(() => {}, patienceMs);
  assert.equal(await over, 'gone');
  clearInterval(hold);
  assert.equal(await session.check(), true);
  assert.equal(told(), 1);
});

test('a display that is busy once is there', async () => {
  const { session, told, looks } = watch(['busy', 'busy', null]);
  using _session = session;
  assert.equal(await session.check(), false);
  assert.ok(looks() >= 3);
  assert.equal(told(), 0);
});

test('looks at the same time are one', async () => {
  const { session, looks } = watch([null], 1_000_000);
  using _session = session;
  await Promise.all([session.check(), session.check()]);
  assert.equal(looks(), 1);
});
