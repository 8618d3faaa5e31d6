/** The model whose text is shown while it writes. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { think, type Asking } from '../../test/fake/thinking.ts';
import { ScriptedModel, settled } from '../../test/fake/scripted-model.ts';
import { createConsensus } from './policies/consensus.ts';

function start(t: TestContext, models: number, asking: Asking = {}) {
  const all = ['a', 'b', 'c'].slice(0, models).map((name) => new ScriptedModel(name));
  const shown: string[] = [];
  const turn = think(t, all, { ...asking, show: (whole) => void shown.push(whole) });
  const writes = (model: ScriptedModel, whole: string): void => model.last.request.onText?.(whole);
  const [a, b] = all as [ScriptedModel, ScriptedModel];
  return { turn, shown, writes, a, b };
}

test('one model after the other: the text of the one that is asked', async (t) => {
  const { turn, shown, writes, a, b } = start(t, 2, { dispatch: 'sequential' });
  writes(a, 'one');
  await a.last.fail('server_error');
  writes(b, 'two');
  await b.last.answer('two three');
  writes(b, 'late');
  assert.deepEqual(shown, ['one', 'two']);
  assert.equal(turn.now()?.kind, 'reply');
});

test('all at once: of the best one that has not failed, and of no other', async (t) => {
  const { shown, writes, a, b } = start(t, 2);
  writes(b, 'second');
  writes(a, 'first');
  writes(b, 'second, more');
  assert.deepEqual(shown, ['first']);
  await a.last.fail('rejected');
  writes(b, 'second, and more');
  assert.deepEqual(shown, ['first', 'second, and more']);
});

test('what is seen to grow is outranked once it stands still for 30 s', async (t) => {
  const { turn, writes, a, b } = start(t, 2);
  writes(a, 'one');
  await b.last.answer('second');
  for (let times = 1; times <= 4; times++) {
    t.mock.timers.tick(20_000);
    await settled();
    writes(a, `one ${times}`);
  }
  t.mock.timers.tick(29_999);
  await settled();
  assert.equal(turn.now(), null);
  t.mock.timers.tick(1);
  await settled();
  const now = turn.now();
  assert.equal(now?.kind === 'reply' && now.text, 'second');
});

test('of a consensus nothing, however many are asked', (t) => {
  for (const models of [1, 3]) {
    const { shown, a } = start(t, models, { policy: createConsensus() });
    assert.equal(a.last.request.onText, undefined);
    assert.deepEqual(shown, []);
    t.mock.timers.reset();
  }
});

test('where nobody looks, nothing is streamed', (t) => {
  const a = new ScriptedModel('a');
  think(t, [a]);
  assert.equal(a.last.request.onText, undefined);
});
