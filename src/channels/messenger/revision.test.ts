import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import type { ConversationId, MessageId } from '../../domain/ids.ts';
import type { Reply } from '../../domain/reply.ts';
import { RecentQuestions, revise } from './recent-questions.ts';

const id = 'q1' as MessageId;
const reply = { id: 'r2', text: 'six', inReplyTo: 'q2' } as unknown as Reply;

function start() {
  const questions = new RecentQuestions(handClock().steady, 0);
  const sender = { id: 'ann', name: null };
  questions.admits('m', { conversation: 'c' as ConversationId, sender, text: 'one' });
  questions.noteReceipt('m', undefined, { id });
  return { questions };
}

test('its answer takes the place of the former one, and makes the rest of it needless', () => {
  const { questions } = start();
  for (const message of ['a', 'b', 'b']) questions.addAnswer(id, message);
  const revision = revise(questions, reply, 'm');
  assert.equal(revision.reply.replaces, 'a');
  assert.deepEqual(revision.delivered('a'), ['b']);
  assert.deepEqual(questions.answerTo('m'), []);
  assert.equal(revise(questions, reply, 'm').reply.replaces, undefined);
});

test('what is shown already is replaced; a later part of a reply replaces nothing', () => {
  const { questions } = start();
  questions.addAnswer(id, 'a');
  const later = { ...reply, id: 'r2-01' as Reply['id'] };
  assert.equal(revise(questions, later, 'm').reply.replaces, undefined);
  const revision = revise(questions, { ...reply, replaces: 'p' }, 'm');
  assert.equal(revision.reply.replaces, 'p');
  assert.deepEqual(revision.delivered('new'), ['p', 'a']);
});

test('where there is no other answer the former one stays, beside what says so', () => {
  const { questions } = start();
  questions.addAnswer(id, 'a');
  const revision = revise(questions, { ...reply, isApology: true }, 'm');
  assert.equal(revision.reply.replaces, undefined);
  assert.deepEqual(revision.delivered('sorry'), []);
  const grown = revise(questions, { ...reply, replaces: 'p', isApology: true }, 'm');
  assert.equal(grown.reply.replaces, 'p');
});
