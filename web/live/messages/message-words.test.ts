import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageRow } from '../../../src/domain/records.ts';
import { turnOutcomes } from '../../../src/domain/trace.ts';
import { fateOf } from './message-words.ts';

const fate = (more: Partial<MessageRow>) =>
  fateOf({
    state: 'answered',
    outcome: 'reply',
    replies: { waiting: 0, delivered: 1, dead: 0 },
    ...more,
  } as MessageRow);

test('what went as it should is quiet, and each message without an answer is red', () => {
  const quiet: ReadonlySet<string> = new Set(['reply', 'command', 'by_hand', 'abandoned']);
  for (const outcome of turnOutcomes) {
    assert.equal(fate({ outcome })[0], quiet.has(outcome) ? 'off' : 'bad', outcome);
  }
  assert.deepEqual(fate({ outcome: null }), ['off', 'answered']);
  assert.deepEqual(fate({ state: 'dead' }), ['bad', 'given up']);
});

test('what may still become well is amber', () => {
  const onItsWay = { waiting: 1, delivered: 0, dead: 0 };
  assert.deepEqual(fate({ state: 'waiting' }), ['wait', 'waiting']);
  assert.deepEqual(fate({ replies: onItsWay }), ['wait', 'answered, on its way']);
  const apology = fate({ outcome: 'no_answer', replies: onItsWay });
  assert.deepEqual(apology, ['bad', 'no model answered, on its way'], 'nobody answers it any more');
  const dead = { waiting: 0, delivered: 0, dead: 1 };
  assert.deepEqual(fate({ replies: dead }), ['bad', 'answered, not delivered']);
});
