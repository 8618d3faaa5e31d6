import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/hand-clock.ts';
import type { MessageId } from '../domain/ids.ts';
import type { Reply } from '../domain/reply.ts';
import { RecentQuestions, revise } from './recent-questions.ts';

const id = 'q1' as MessageId;
const by = (sender: string, text: string) => ({ sender: { id: sender, name: null }, text });
const reply = { id: 'r2', text: 'six', inReplyTo: 'q2' } as unknown as Reply;

function start() {
  const clock = handClock();
  const questions = new RecentQuestions(clock.steady);
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
