/** The retries of models after a failure: which models, when, and how often. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, results, think, three } from '../../test/fake/thinking.ts';
import { ScriptedModel } from '../../test/fake/scripted-model.ts';
import { createConsensus } from './policies/consensus.ts';

test('a model is not retried while another may still answer, nor when one has', async (t) => {
  const [a, b, c] = three();
  const turn = think(t, [a, b, c]);
  await a.last.fail('server_error');
  t.mock.timers.tick(60_000);
  assert.equal(a.questions.length, 1);
  await c.last.answer('third');
  await b.last.fail('timeout');
  assert.equal(brief(turn.now()), 'c: third');
  assert.equal(a.questions.length, 1);
});

test('when all have failed, passing failures are retried, each after its pause', async (t) => {
  const [a, b, c] = three();
  const turn = think(t, [a, b, c]);
  await a.last.fail('rate_limited', { retryAfterMs: 5_000 });
  await b.last.fail('unauthorized');
  await c.last.fail('connection_lost');
  t.mock.timers.tick(199);
  assert.deepEqual(
    [a, b, c].map((model) => model.questions.length),
    [1, 1, 1],
  );
  t.mock.timers.tick(1);
  assert.deepEqual(
    [a, b, c].map((model) => model.questions.length),
    [1, 1, 2],
  );
  await c.last.answer('at last');
  assert.equal(brief(turn.now()), 'c: at last', 'the pause of the better one ends with the answer');
  assert.deepEqual(results(turn.steps), ['a rate_limited', 'b unauthorized', 'c answer']);
  const last = turn.steps.find((step) => step.kind === 'model' && step.result === 'answer');
  assert.ok(last?.kind === 'model');
  assert.deepEqual(
    last.tries.map(({ failed }) => failed),
    ['connection_lost', null],
  );
  t.mock.timers.tick(60_000);
  assert.equal(a.questions.length, 1);
});

test('retries end at their number, and then the sender is asked for patience', async (t) => {
  const a = new ScriptedModel('a');
  const turn = think(t, [a]);
  for (const pauseMs of [200, 400]) {
    await a.last.fail('overloaded');
    t.mock.timers.tick(pauseMs);
  }
  assert.equal(a.questions.length, 3);
  await a.last.fail('overloaded');
  assert.equal(brief(turn.now()), 'busy');
});

test('in consensus a retry round asks everyone, for one answer decides nothing', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b], { policy: createConsensus() });
  await a.last.fail('server_error');
  await b.last.fail('rate_limited', { retryAfterMs: 1_000 });
  t.mock.timers.tick(200);
  await a.last.answer('Four.');
  t.mock.timers.tick(800);
  await b.last.answer('four');
  assert.equal(brief(turn.now()), 'a: Four.');
});

test('sequential retries after the last has failed, again as listed', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b], { dispatch: 'sequential' });
  await a.last.fail('server_error');
  await b.last.fail('server_error');
  t.mock.timers.tick(200);
  assert.deepEqual([a.questions.length, b.questions.length], [2, 1]);
  await a.last.fail('server_error');
  assert.deepEqual([a.questions.length, b.questions.length], [2, 2]);
  await b.last.answer('two');
  assert.equal(brief(turn.now()), 'b: two');
});

test('sequential retries one that is alone, too', async (t) => {
  const [a] = three();
  const turn = think(t, [a], { dispatch: 'sequential' });
  await a.last.fail('server_error');
  t.mock.timers.tick(200);
  await a.last.answer('one');
  assert.equal(brief(turn.now()), 'a: one');
});
