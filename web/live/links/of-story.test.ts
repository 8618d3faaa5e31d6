import assert from 'node:assert/strict';
import { test } from 'node:test';
import { story } from '../../../test/support/stories.ts';
import type { FailureSummary, ReplyStory, Story } from '../../../src/domain/story.ts';
import { deliveriesIn, lettersIn } from './of-story.ts';

const failure: FailureSummary = { kind: 'gone', whose: 'operator', status: 410, detail: 'gone' };
const whole = 'r'.repeat(22);

function replyOf(id: string, more: Partial<ReplyStory>): ReplyStory {
  return { ...story.replies[0], id, failure: null, dueAt: null, ...more };
}

const of = (replies: readonly ReplyStory[], more: Partial<Story> = {}): Story => ({
  ...story,
  replies,
  ...more,
});

test('a reply is deferred once it waits for another try than its first', () => {
  const told = deliveriesIn(
    of([
      replyOf('a', { state: 'waiting', dueAt: 9, failure }),
      replyOf('b', { state: 'waiting' }),
      replyOf('c', { state: 'delivered' }),
      replyOf('d', { state: 'dead', failure }),
    ]),
  );
  assert.deepEqual(
    told.map(({ id, message, state, nextAt }) => [id, message, state, nextAt]),
    [
      ['a', story.id, 'deferred', 9],
      ['b', story.id, 'waiting', null],
      ['c', story.id, 'delivered', null],
      ['d', story.id, 'dead', null],
    ],
  );
});

test('the parts of a reply that died are one letter, of the one that died last', () => {
  const late = { ...failure, detail: 'last' };
  const [letter, ...more] = lettersIn(
    of([
      replyOf(`${whole}-00`, { state: 'dead', settledAt: 2, attempts: 1, failure: late }),
      replyOf(`${whole}-01`, { state: 'dead', settledAt: 1, attempts: 3, failure }),
      replyOf(`${whole}-02`, { state: 'delivered' }),
    ]),
  );
  assert.deepEqual(more, []);
  assert.deepEqual([letter?.id, letter?.box, letter?.messageId], [whole, 'out', story.id]);
  assert.deepEqual([letter?.parts, letter?.attempts, letter?.diedAt], [2, 3, 2]);
  assert.equal(letter?.failure.detail, 'last');
});

test('a message that died is a letter itself, and counts the try that ended it', () => {
  const fault: FailureSummary = { ...failure, kind: 'fault' };
  for (const [why, attempts] of [[failure, 2] as const, [fault, 3] as const]) {
    const dead = of([], { state: 'dead', failure: why, settledAt: 7, diedUnder: 2 });
    const [letter] = lettersIn(dead);
    assert.deepEqual([letter?.id, letter?.box, letter?.diedAt], [story.id, 'in', 7]);
    assert.equal(letter?.attempts, attempts);
  }
  assert.deepEqual(lettersIn(of([])), []);
});
