import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../domain/failure.ts';
import type { OutClaim, Durability } from '../ledger/ledger.ts';
import { decideRetry } from './retry-policy.ts';

const clock = { now: () => 1_000_000, random: () => 0.5 };
const durability: Durability = {
  durable: true,
  deliveryGapsMs: [1_000, 5_000, 300_000],
  hotGaps: 2,
  jitter: 0.2,
  drainMs: 5_000,
  drainsBacklog: false,
};
const claim = (attempt: number, possibleDuplicate = false): OutClaim =>
  ({
    box: 'out',
    attempt,
    attemptOfSchedule: attempt,
    possibleDuplicate,
    late: false,
    reply: { createdAt: 1_000_000 },
  }) as OutClaim;
const retry = (kind: 'overloaded' | 'timeout' | 'cancelled', mayHaveArrived = false) =>
  ({ kind: 'retry', failure: failure(kind), mayHaveArrived }) as const;

test('the pause before each try is the schedule, and the last one ends in a dead letter', () => {
  const steps = [1, 2, 3, 4].map((attempt) =>
    decideRetry(retry('overloaded'), claim(attempt), durability, clock),
  );
  const delays = steps.map((step) => (step.kind === 'defer' ? step.at - clock.now() : step.kind));
  assert.deepEqual(delays, [1_000, 5_000, 300_000, 'bury']);
});

test('a reply is parked once its hot tries are over', () => {
  const parked = [1, 2, 3].map((attempt) => {
    const step = decideRetry(retry('overloaded'), claim(attempt), durability, clock);
    return step.kind === 'defer' && step.how.park;
  });
  assert.deepEqual(parked, [false, false, true]);
});

test('after a replay the schedule begins anew, while the tries are counted on', () => {
  const replayed = { ...claim(4), attemptOfSchedule: 1, late: true };
  const step = decideRetry(retry('overloaded'), replayed, durability, clock);
  assert.ok(step.kind === 'defer');
  assert.deepEqual([step.at - clock.now(), step.how.park], [1_000, false]);
  const last = { ...claim(7), attemptOfSchedule: 4, late: true };
  assert.equal(decideRetry(retry('overloaded'), last, durability, clock).kind, 'bury');
});

test('the jitter stays within its share', () => {
  for (const random of [0, 0.25, 0.123_456, 0.999]) {
    const step = decideRetry(retry('overloaded'), claim(2), durability, {
      ...clock,
      random: () => random,
    });
    assert.ok(step.kind === 'defer');
    const pauseMs = step.at - clock.now();
    assert.ok(Number.isInteger(step.at), String(step.at));
    assert.ok(pauseMs >= 4_000 && pauseMs <= 6_000, String(pauseMs));
  }
});

test('a longer Retry-After is honoured, up to an hour', () => {
  const asked = (retryAfterMs: number) => {
    const why = failure('overloaded', { retryAfterMs });
    const outcome = { kind: 'retry', failure: why, mayHaveArrived: false } as const;
    const step = decideRetry(outcome, claim(1), durability, clock);
    return step.kind === 'defer' ? step.at - clock.now() : null;
  };
  assert.equal(asked(100), 1_000);
  assert.equal(asked(30_000), 30_000);
  assert.equal(asked(86_400_000), 3_600_000);
});

test('a try that may have arrived marks every later one', () => {
  const first = decideRetry(retry('timeout', true), claim(1), durability, clock);
  assert.ok(first.kind === 'defer' && first.how.possibleDuplicate);
  const later = decideRetry(retry('overloaded'), claim(2, true), durability, clock);
  assert.ok(later.kind === 'defer' && later.how.possibleDuplicate);
});

test('a cancelled try is given back untouched, unless it may have arrived', () => {
  assert.equal(decideRetry(retry('cancelled'), claim(1), durability, clock).kind, 'release');
  const step = decideRetry(retry('cancelled', true), claim(1), durability, clock);
  assert.ok(step.kind === 'defer' && step.at === clock.now() && step.how.possibleDuplicate);
});

test('a receiver that is gone for good ends it at once', () => {
  const step = decideRetry({ kind: 'dead', failure: failure('gone') }, claim(1), durability, clock);
  assert.deepEqual(step, { kind: 'bury', why: failure('gone') });
});

test('where a channel ends the schedule early, the last try is when its time is over', () => {
  const steps = [1, 2, 3, 4].map((attempt) =>
    decideRetry(retry('overloaded'), claim(attempt), durability, clock, 60_000),
  );
  const delays = steps.map((step) => (step.kind === 'defer' ? step.at - clock.now() : step.kind));
  assert.deepEqual(delays, [1_000, 5_000, 54_000, 'bury']);
});

const memory: Durability = { ...durability, deliveryGapsMs: [5_000, 45_000], jitter: 0 };
const unseen = {
  kind: 'retry',
  failure: failure('connection_lost', { retryAfterMs: 60_000 }),
  mayHaveArrived: true,
} as const;

test('a second look after an end that nobody saw has its pause, in order, in every form', () => {
  for (const form of [durability, memory]) {
    for (const attempt of [1, 2]) {
      const step = decideRetry(unseen, claim(attempt), form, clock);
      assert.ok(step.kind === 'defer' && step.at === clock.now() + 60_000);
      assert.deepEqual(step.how, { park: false, possibleDuplicate: true });
    }
  }
});

test('it is had once, even where the schedule is over', () => {
  const last = decideRetry(unseen, claim(3), memory, clock);
  assert.ok(last.kind === 'defer' && last.at === clock.now() + 60_000);
  assert.equal(decideRetry(unseen, claim(4, true), memory, clock).kind, 'bury');
  const relay = failure('server_error', { status: 502, retryAfterMs: 60_000 });
  const step = decideRetry({ ...unseen, failure: relay }, claim(3), memory, clock);
  assert.ok(step.kind === 'defer' && step.at === clock.now() + 60_000);
  // A receiver's own answer, or a broken attempt without such a wish, follows the schedule.
  assert.equal(decideRetry(retry('timeout', true), claim(3), memory, clock).kind, 'bury');
});

test('a reply that waits for its place loses no try and nobody its order', () => {
  const paced = { kind: 'paced', pauseMs: 90_000.2, asked: null } as const;
  for (const number of [1, 3, 9]) {
    const step = decideRetry(paced, claim(number, true), durability, clock);
    assert.deepEqual(step, { kind: 'release', at: clock.now() + 90_001 });
  }
});

const asked = failure('rate_limited', { status: 429, retryAfterMs: 90_000 });

test('a platform that answers that it takes no more costs no try, and no order', () => {
  for (const [pauseMs, waitsMs] of [
    [90_000, 90_000],
    [10, 1_000],
    [86_400_000, 3_600_000],
  ] as const) {
    for (const form of [durability, memory]) {
      const step = decideRetry({ kind: 'paced', pauseMs, asked }, claim(3, true), form, clock);
      const how = { park: false, possibleDuplicate: true, uncounted: true };
      assert.deepEqual(step, { kind: 'defer', at: clock.now() + waitsMs, why: asked, how });
    }
  }
});

test('once the schedule or the time of its channel would be over, it is a try as any other', () => {
  const paced = { kind: 'paced', pauseMs: 90_000, asked } as const;
  const after = (ms: number, attempt: number, spanMsMax?: number) => {
    const late = { ...clock, now: () => clock.now() + ms };
    const step = decideRetry(paced, claim(attempt), durability, late, spanMsMax);
    return step.kind === 'defer' ? (step.how.uncounted ?? false) : step.kind;
  };
  assert.equal(after(305_999, 1), true);
  assert.deepEqual([after(306_000, 1), after(306_000, 4)], [false, 'bury']);
  assert.deepEqual([after(59_999, 1, 60_000), after(60_000, 1, 60_000)], [true, false]);
});
