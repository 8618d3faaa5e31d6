import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { ofUnanswered } from './unanswered.ts';

const window = (answers: number, failures: number) => ({
  oneMinute: { answers: 0, failures: 0 },
  fiveMinutes: { answers, failures },
});
const model = 'local_runtime/a';
const brain = {
  brain: 'desk',
  standing: 'failing',
  since: 0,
  shownAt: 110_000,
  model,
  reason: 'connect_failed',
  window: window(0, 3),
};
const small = {
  model,
  inUse: true,
  standing: 'failing',
  since: 0,
  shownAt: 110_000,
  reason: 'connect_failed',
  answeredByOthers: 38,
  window: window(28, 12),
};
const told = (answering: readonly object[], models: readonly object[]) =>
  ofUnanswered({ answering, models } as unknown as Status, 120_000);

test('a brain that answers nothing is urgent, and names cause and move', () => {
  const [concern, ...more] = told([brain], [small]);
  assert.deepEqual(more, [], 'its model is told with it');
  assert.deepEqual(concern, {
    key: 'brain desk',
    tone: 'bad',
    what:
      'No model answers for the brain desk, for 2 min now: a (Ollama): the address ' +
      'could not be reached. 3 of 3 messages got no answer in the last 5 minutes.',
    remedy: 'Ollama is not running: `ollama serve`. If it is, check base_url.',
    place: { view: 'model', id: model },
  });
  const [some] = told([{ ...brain, standing: 'degraded', model: null, reason: null }], []);
  assert.match(some.what, /^Some messages to the brain desk get no answer, for 2 min now\. 3/);
  assert.equal(some.tone, 'bad');
});

test('a model in whose place others answer is a notice, with how often they did', () => {
  const [concern] = told([{ ...brain, standing: 'up', model: null }], [small]);
  assert.equal(concern.tone, 'wait');
  assert.equal(
    concern.what,
    'a (Ollama) does not answer, for 2 min now: the address could not be reached. ' +
      '12 of 40 calls failed in the last 5 minutes. Other models answered 38 messages in its ' +
      'place.',
  );
});

test('a model that fails at some calls is a notice, with how often, and says who answers', () => {
  const halting = { ...small, standing: 'degraded', reason: 'server_error', answeredByOthers: 0 };
  const [concern] = told([], [halting]);
  assert.equal(
    concern.what,
    'a (Ollama) fails at some calls, and retries answer: it answered with a server error. ' +
      '12 of 40 calls failed in the last 5 minutes.',
  );
  assert.equal(concern.tone, 'wait');
  const [byOthers] = told([], [{ ...halting, answeredByOthers: 2 }]);
  assert.match(byOthers.what, /some calls: .* Other models answered 2 messages in its place\.$/);
  const other = { ...brain, model: 'local_runtime/b' };
  const [, beside] = told([other], [halting]);
  assert.match(beside.what, /^a \(Ollama\) fails at some calls: /, 'who answers is not known then');
  assert.equal(concern.remedy, "Look into Ollama's log, or start it again.");
});

test('while nothing is asked it is told how old that is; what is not in use needs nobody', () => {
  const [concern] = told([], [{ ...small, window: window(0, 0), answeredByOthers: 0 }]);
  assert.match(concern.what, /Last tried 10 s ago\.$/);
  assert.deepEqual(told([], [{ ...small, inUse: false }]), []);
});
