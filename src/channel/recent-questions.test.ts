import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/hand-clock.ts';
import type { ConversationId, MessageId } from '../domain/ids.ts';
import type { Reply } from '../domain/reply.ts';
import { RecentQuestions, revise } from './recent-questions.ts';

const id = 'q1' as MessageId;
const conversation = 'c' as ConversationId;
const by = (sender: string, text: string) => {
  return { conversation, sender: { id: sender, name: null }, text };
};
const reply = { id: 'r2', text: 'six', inReplyTo: 'q2' } as unknown as Reply;

function start(gatherMs = 0) {
  const clock = handClock();
  const questions = new RecentQuestions(clock.steady, gatherMs);
  questions.said('m', by('ann', 'one'));
  questions.settled('m', id);
  return { clock, questions };
}

test('the first edit is asked, by the same person, in other words', () => {
  const { questions } = start();
  assert.equal(questions.isAsked('m', by('bo', 'two')), false);
  assert.equal(questions.isAsked('m', by('ann', 'one')), false);
  assert.equal(questions.isAsked('n', by('ann', 'two')), false);
  assert.equal(questions.isAsked('m', by('ann', 'two')), true);
  questions.edited('m');
  assert.equal(questions.isAsked('m', by('ann', 'three')), false);
});

test('the edit of a message that was turned away is not asked', () => {
  const { questions } = start();
  questions.said('n', by('ann', 'one'));
  questions.settled('n', null);
  assert.equal(questions.isAsked('n', by('ann', 'two')), false);
});

test('what may have been answered together with others is not asked again', () => {
  for (const [gatherMs, isJoined] of [
    [500, true],
    [0, false],
  ] as const) {
    const { clock, questions } = start(gatherMs);
    clock.pass(500);
    questions.said('n', by('ann', 'two'));
    const asked = ['m', 'n'].map((name) => questions.isAsked(name, by('ann', 'other')));
    assert.deepEqual(asked, [!isJoined, !isJoined]);
  }
});

test('by the platform that tells when, what came together but was said apart is asked', () => {
  for (const [apartMs, isJoined] of [
    [600_000, false],
    [1_500, true],
  ] as const) {
    const questions = new RecentQuestions(handClock().steady, 1_500);
    questions.said('m', { ...by('ann', 'one'), saidAt: { at: 5_000, stepMs: 1 } });
    questions.said('n', { ...by('ann', 'two'), saidAt: { at: 5_000 + apartMs, stepMs: 1 } });
    assert.equal(questions.isAsked('m', by('ann', 'other')), !isJoined, String(apartMs));
  }
});

test('what others say, and what comes later, is joined to nothing', () => {
  const { clock, questions } = start(500);
  questions.said('n', by('bo', 'two'));
  clock.pass(2_000);
  questions.said('o', by('ann', 'three'));
  assert.equal(questions.isAsked('m', by('ann', 'other')), true);
  assert.equal(questions.isAsked('n', by('bo', 'other')), true);
  assert.equal(questions.isAsked('o', by('ann', 'other')), true);
});

test('what the ledger had refused counts from when it goes there again', () => {
  const { clock, questions } = start(500);
  clock.pass(5_000);
  questions.said('m', by('ann', 'one'));
  questions.said('n', by('ann', 'two'));
  assert.equal(questions.isAsked('m', by('ann', 'other')), false);
});

test('a piece of an album is not asked again', () => {
  const { questions } = start();
  const gather = { kind: 'album', key: 'a', ms: 1_000 } as const;
  questions.said('n', { ...by('ann', 'one'), gather });
  assert.equal(questions.isAsked('n', { ...by('ann', 'two'), gather }), false);
});

test('its answer takes the place of the former one, and makes the rest of it needless', () => {
  const { questions } = start();
  for (const message of ['a', 'b', 'b']) questions.answered(id, message);
  const revision = revise(questions, reply, 'm');
  assert.equal(revision.reply.replaces, 'a');
  assert.deepEqual(revision.delivered('a'), ['b']);
  assert.deepEqual(questions.answerTo('m'), []);
  assert.equal(revise(questions, reply, 'm').reply.replaces, undefined);
});

test('what is shown already is replaced; a later part of a reply replaces nothing', () => {
  const { questions } = start();
  questions.answered(id, 'a');
  const later = { ...reply, id: 'r2-01' as Reply['id'] };
  assert.equal(revise(questions, later, 'm').reply.replaces, undefined);
  const revision = revise(questions, { ...reply, replaces: 'p' }, 'm');
  assert.equal(revision.reply.replaces, 'p');
  assert.deepEqual(revision.delivered('new'), ['p', 'a']);
});

test('it knows the last thousand, for ten minutes', () => {
  const { clock, questions } = start();
  clock.pass(600_001);
  questions.said('n', by('ann', 'one'));
  assert.equal(questions.isAsked('m', by('ann', 'two')), false);
  for (let n = 0; n < 1_000; n++) questions.said(`o${n}`, by('ann', 'one'));
  assert.equal(questions.isAsked('n', by('ann', 'two')), false);
  assert.equal(questions.isAsked('o0', by('ann', 'two')), true);
});
