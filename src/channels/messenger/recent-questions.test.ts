import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import type { ConversationId, MessageId } from '../../domain/ids.ts';
import { RecentQuestions } from './recent-questions.ts';

const id = 'q1' as MessageId;
const conversation = 'c' as ConversationId;
const by = (sender: string, text: string) => {
  return { conversation, sender: { id: sender, name: null }, text };
};

function start(gatherMs = 0) {
  const clock = handClock();
  const questions = new RecentQuestions(clock.steady, gatherMs);
  questions.admits('m', by('ann', 'one'));
  questions.noteReceipt('m', undefined, { id });
  return { clock, questions };
}

const isAsked = (
  questions: RecentQuestions,
  name: string,
  said: Parameters<typeof questions.admits>[1],
): boolean => questions.admits(`edit:${name}`, said, name);

test('the first edit is asked, by the same person, in other words', () => {
  const { questions } = start();
  assert.equal(isAsked(questions, 'm', by('bo', 'two')), false);
  assert.equal(isAsked(questions, 'm', by('ann', 'one')), false);
  assert.equal(isAsked(questions, 'n', by('ann', 'two')), false);
  assert.equal(isAsked(questions, 'm', by('ann', 'two')), true);
  questions.noteReceipt('e', 'm', { id });
  assert.equal(isAsked(questions, 'm', by('ann', 'three')), false);
});

test('the edit of a message that was turned away is not asked', () => {
  const { questions } = start();
  questions.admits('n', by('ann', 'one'));
  questions.noteReceipt('n', undefined, null);
  assert.equal(isAsked(questions, 'n', by('ann', 'two')), false);
});

test('what may have been answered together with others is not asked again', () => {
  for (const [gatherMs, isJoined] of [
    [500, true],
    [0, false],
  ] as const) {
    const { clock, questions } = start(gatherMs);
    clock.pass(500);
    questions.admits('n', by('ann', 'two'));
    const asked = ['m', 'n'].map((name) => isAsked(questions, name, by('ann', 'other')));
    assert.deepEqual(asked, [!isJoined, !isJoined]);
  }
});

test('by the platform that tells when, what came together but was said apart is asked', () => {
  for (const [apartMs, isJoined] of [
    [600_000, false],
    [1_500, true],
  ] as const) {
    const questions = new RecentQuestions(handClock().steady, 1_500);
    questions.admits('m', { ...by('ann', 'one'), saidAt: { at: 5_000, stepMs: 1 } });
    questions.admits('n', { ...by('ann', 'two'), saidAt: { at: 5_000 + apartMs, stepMs: 1 } });
    assert.equal(isAsked(questions, 'm', by('ann', 'other')), !isJoined, String(apartMs));
  }
});

test('what others say, and what comes later, is merged with nothing', () => {
  const { clock, questions } = start(500);
  questions.admits('n', by('bo', 'two'));
  clock.pass(2_000);
  questions.admits('o', by('ann', 'three'));
  assert.equal(isAsked(questions, 'm', by('ann', 'other')), true);
  assert.equal(isAsked(questions, 'n', by('bo', 'other')), true);
  assert.equal(isAsked(questions, 'o', by('ann', 'other')), true);
});

test('what the ledger had refused counts from when it goes there again', () => {
  const { clock, questions } = start(500);
  clock.pass(5_000);
  questions.admits('m', by('ann', 'one'));
  questions.admits('n', by('ann', 'two'));
  assert.equal(isAsked(questions, 'm', by('ann', 'other')), false);
});

test('a part of an album is not asked again', () => {
  const { questions } = start();
  const gather = { kind: 'album', key: 'a', ms: 1_000 } as const;
  questions.admits('n', { ...by('ann', 'one'), gather });
  assert.equal(isAsked(questions, 'n', { ...by('ann', 'two'), gather }), false);
});

test('it knows the last thousand, for ten minutes', () => {
  const { clock, questions } = start();
  clock.pass(600_001);
  questions.admits('n', by('ann', 'one'));
  assert.equal(isAsked(questions, 'm', by('ann', 'two')), false);
  for (let n = 0; n < 1_000; n++) questions.admits(`o${n}`, by('ann', 'one'));
  assert.equal(isAsked(questions, 'n', by('ann', 'two')), false);
  assert.equal(isAsked(questions, 'o0', by('ann', 'two')), true);
});
