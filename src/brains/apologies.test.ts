import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, type Failure, type FailureKind } from '../domain/failure.ts';
import { apologyOf } from './responder.ts';

const sorry = (...failures: readonly (FailureKind | Failure)[]) =>
  apologyOf(
    failures.map((one) => {
      const why = typeof one === 'string' ? failure(one) : one;
      return { outcome: { kind: 'failed', failure: why, tries: [] } };
    }),
  );
const until = (opensAt: number): Failure => ({ ...failure('over_budget'), opensAt });

test('a budget is the reason where no model failed in passing', () => {
  assert.deepEqual(sorry('over_budget'), { apology: 'over_budget', opensAt: null });
  assert.deepEqual(sorry('rejected', until(7)), { apology: 'over_budget', opensAt: 7 });
  assert.deepEqual(sorry(until(7), 'rate_limited'), { apology: 'busy' });
});

test('who wrote more than any model reads is told to write less', () => {
  const long = 'context_overflow';
  assert.deepEqual(sorry(long, long), { apology: 'too_long' });
  assert.deepEqual(sorry(long, 'rejected'), { apology: 'no_answer' });
  assert.deepEqual(sorry(), { apology: 'no_answer' });
});

test('it answers again when the first of its models may', () => {
  const apology = sorry('over_budget', until(9), until(7));
  assert.deepEqual(apology, { apology: 'over_budget', opensAt: 7 });
});
