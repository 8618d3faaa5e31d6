import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, failureKinds } from '../../../src/domain/failure.ts';
import type { DeadLetter, DeadLetterReason } from '../../../src/domain/story.ts';
import { adviceOn, groupsOf, isWithin } from './letter-words.ts';

const gone = failure('gone');

function reason(more: Partial<DeadLetterReason>): DeadLetterReason {
  return { ...gone, status: null, box: 'out', count: 1, ...more };
}

test('reasons of one kind and box are one, whatever the status; the most frequent is first', () => {
  const groups = groupsOf([
    reason({ kind: 'rejected', status: 400, count: 2 }),
    reason({ count: 4 }),
    reason({ kind: 'rejected', status: 422, count: 3 }),
    reason({ kind: 'rejected', box: 'in' }),
  ]);
  assert.deepEqual(
    groups.map(({ kind, box, count, statuses }) => [kind, box, count, statuses]),
    [
      ['rejected', 'out', 5, [400, 422]],
      ['gone', 'out', 4, []],
      ['rejected', 'in', 1, []],
    ],
  );
});

test('there is advice on every kind of failure', () => {
  for (const kind of failureKinds) assert.ok(adviceOn(failure(kind)).endsWith('.'), kind);
});

test('a letter is within its reason, its box and its message, and within any', () => {
  const letter = {
    id: '1',
    box: 'out',
    channel: 'webhook',
    messageId: '2',
    acceptedAt: 0,
    diedAt: 0,
    attempts: 1,
    parts: 1,
    failure: gone,
  } as unknown as DeadLetter;
  const within = (kind: string | null, box: string | null, message: string | null = null) =>
    isWithin(letter, { reason: kind, box, message });
  assert.ok(within(null, null) && within('gone', null) && within('gone', 'out'));
  assert.ok(within(null, null, '2') && !within(null, null, '1'));
  assert.ok(!within('gone', 'in') && !within('rejected', 'out'));
});
