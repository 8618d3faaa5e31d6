import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, failureKinds } from '../../domain/failure.ts';
import { retryDelayMs } from './provider-call.ts';

const random = (): number => 0.5;

test('only what may pass is tried again', () => {
  const again = failureKinds.filter((kind) => retryDelayMs(failure(kind), 0) !== null);
  assert.deepEqual(again.sort(), [
    'connect_failed',
    'connect_timeout',
    'connection_lost',
    'empty_answer',
    'overloaded',
    'rate_limited',
    'server_error',
  ]);
});

test('twice unless told otherwise, after growing pauses', () => {
  const lost = failure('connection_lost');
  const pauses = [0, 1, 2].map((attempt) => retryDelayMs(lost, attempt, { random }));
  assert.deepEqual(pauses, [100, 200, null]);
  assert.equal(retryDelayMs(lost, 0, { random, retriesMax: 0 }), null);
  assert.equal(retryDelayMs(lost, 7, { random, retriesMax: 9 }), 1_000);
});

test('when the provider names a time, then, but within 30 s', () => {
  const limited = [0, 7_000, 90_000].map((ms) => failure('rate_limited', { retryAfterMs: ms }));
  const waits = limited.map((one) => retryDelayMs(one, 1, { random }));
  assert.deepEqual(waits, [0, 7_000, 30_000]);
});
