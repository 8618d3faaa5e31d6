import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { IdentifyBudget } from './session.ts';

const limits = { atOnceMax: 3, oneEveryMs: 60_000, spacingMs: 5_000 };
const hourMs = 3_600_000;

/** A budget after so many new sessions, each as soon as the budget allows. */
function spent(count: number) {
  const clock = handClock();
  const budget = new IdentifyBudget(null, clock, limits);
  for (let taken = 0; taken < count; taken++) {
    if (taken > 0) clock.pass(limits.spacingMs);
    assert.equal(budget.take(), null);
  }
  return { clock, budget };
}

test('so many at once with a space between, and one more every minute', () => {
  const { clock, budget } = spent(1);
  assert.equal(budget.take(), 5_000);
  clock.pass(4_000);
  assert.equal(budget.take(), 1_000);
  clock.pass(1_000);
  assert.equal(budget.take(), null);
  clock.pass(5_000);
  assert.equal(budget.take(), null);
  clock.pass(5_000);
  const waitMs = budget.take();
  assert.ok(waitMs !== null && waitMs > 0 && waitMs <= 60_000, String(waitMs));
  clock.pass(waitMs);
  assert.equal(budget.take(), null);
});

test('a time of day that is set back or forward makes it neither wait nor earn', () => {
  for (const ms of [-hourMs, hourMs]) {
    const { clock, budget } = spent(3);
    clock.pass(5_000);
    clock.set(ms);
    const waitMs = budget.take();
    assert.ok(waitMs !== null && waitMs > 40_000 && waitMs <= 60_000, String(waitMs));
    const one = spent(1);
    one.clock.set(ms);
    assert.equal(one.budget.take(), 5_000);
  }
});

test('what is kept over a restart goes on being earned while nothing runs', () => {
  const { clock, budget } = spent(3);
  const again = (ms: number): number | null => {
    const later = handClock(clock.now() + ms);
    return new IdentifyBudget(budget.text, later, limits).take();
  };
  assert.ok(again(1_000)! > 40_000);
  assert.equal(again(60_000), null);
  assert.ok(again(-hourMs)! > 40_000, 'a clock that was set back meanwhile earns nothing');
});
