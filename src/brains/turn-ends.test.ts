/** The ends of a turn, or of a call, besides an answer: the deadline, a stop, a bug. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, results, think, three } from '../../test/fake/thinking.ts';
import { ScriptedModel, settled } from '../../test/fake/scripted-model.ts';
import { Stopper } from '../lib/stop.ts';
import type { Policy } from './policies/policy.ts';

test('at the deadline the best answer in hand is the reply', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b], { turnMs: 10_000 });
  await b.last.answer('second');
  t.mock.timers.tick(10_000);
  await settled();
  assert.equal(brief(turn.now()), 'b: second');
  assert.deepEqual(results(turn.steps), ['a deadline', 'b answer']);
});

test('at the deadline without an answer the sender is asked for patience', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b], { turnMs: 10_000, dispatch: 'sequential' });
  t.mock.timers.tick(10_000);
  await settled();
  assert.equal(brief(turn.now()), 'busy');
  assert.deepEqual(results(turn.steps), ['a deadline']);
  assert.equal(b.questions.length, 0);
});

test('when a model says that the time is over, no other is asked', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b], { dispatch: 'sequential' });
  await a.last.fail('deadline');
  assert.equal(brief(turn.now()), 'busy');
  assert.equal(b.questions.length, 0);
});

test('a turn that was stopped before it began asks nobody', async (t) => {
  const a = new ScriptedModel('a');
  const stop = new Stopper();
  stop.stop();
  const turn = think(t, [a], { stop });
  assert.equal((await turn.decision).kind, 'apology');
  assert.equal(a.questions.length, 0);
});

test('a stop ends the turn and every call', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b]);
  turn.stopper.stop();
  await turn.decision;
  assert.ok(a.last.stop.stopped && b.last.stop.stopped);
  assert.deepEqual(results(turn.steps), ['a cancelled', 'b cancelled']);
});

test('a model that throws fails alone, and is reported', async (t) => {
  const [a, b] = three();
  const turn = think(t, [a, b]);
  const bug = new Error('a bug');
  await a.last.throw(bug);
  await b.last.answer('second');
  assert.equal(brief(turn.now()), 'b: second');
  assert.deepEqual(results(turn.steps), ['a fault', 'b answer']);
  assert.deepEqual(turn.faults, [bug]);
});

test('a bug in the policy is an apology and a report, and ends every call', async (t) => {
  const [a, b] = three();
  const bug = new Error('a bug');
  const policy: Policy = {
    kind: 'priority',
    judge: () => {
      throw bug;
    },
  };
  const turn = think(t, [a, b], { policy });
  await a.last.answer('first');
  assert.equal(brief(turn.now()), 'fault');
  assert.deepEqual(turn.faults, [bug]);
  assert.ok(b.last.stop.stopped);
});
