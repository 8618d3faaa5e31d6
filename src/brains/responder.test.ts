/** The models that a turn asks, and the answer that becomes the reply. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, results, think, three, type Asking } from '../../test/fake/thinking.ts';
import { ScriptedModel, settled } from '../../test/fake/scripted-model.ts';
import type { TurnRow } from '../domain/conversation.ts';
import { createConsensus } from './policies/consensus.ts';

test('one model is asked once, and its answer is the reply', async (t) => {
  const a = new ScriptedModel('a');
  const before = { at: 0, text: 'before', reply: 'so it was' };
  const history: TurnRow[] = [{ ...before, sensitivity: 'public' }];
  const turn = think(t, [a], { history });
  const { budgetGuard: _, ...request } = a.last.request;
  assert.deepEqual(request, {
    sensitivity: 'public',
    system: null,
    keptFrom: 2,
    tools: [],
    lines: [
      { role: 'user', text: 'before' },
      { role: 'assistant', text: 'so it was' },
      { role: 'user', text: 'hi' },
    ],
    deadlineAt: 1_600_000,
  });
  t.mock.timers.tick(70);
  await a.last.answer('hello');
  assert.equal(brief(turn.now()), 'a: hello');
  assert.deepEqual(turn.steps, [
    {
      kind: 'model',
      model: 'local_runtime/a',
      rank: 0,
      startMs: 0,
      ms: 70,
      result: 'answer',
      tries: [{ startedAt: 1_000_000, ms: 70, failed: null }],
      linesDropped: 0,
      usage: null,
    },
    {
      kind: 'policy',
      policy: 'priority',
      verdict: 'reply',
      winner: 'local_runtime/a',
      votes: [],
      why: 'the first model by rank answered',
    },
  ]);
});

test("the brain's system prompt is the same for each model, and absent it is none", async (t) => {
  const models = three();
  const systemPrompt = 'You are Captain Kit, an old sailor.';
  const turn = think(t, models, { systemPrompt, policy: createConsensus() });
  for (const model of models) {
    assert.equal(model.last.request.system, systemPrompt);
    await model.last.answer('Ahoy.');
  }
  await settled();
  assert.equal(brief(turn.now()), 'a: Ahoy.');
});

test('an attachment is a line below the text, without a type where none came', (t) => {
  const lastLine = (asking: Asking): string => {
    const a = new ScriptedModel('a');
    think(t, [a], asking);
    t.mock.timers.reset();
    return a.last.request.lines.at(-1)!.text;
  };
  const reference = 'https://example.test/x.png';
  const typed = { type: 'image/png', reference };
  assert.equal(
    lastLine({ text: 'see', media: typed }),
    `see\n[attachment: image/png ${reference}]`,
  );
  assert.equal(
    lastLine({ text: '', media: { type: null, reference } }),
    `[attachment: ${reference}]`,
  );
});

test('a lower-ranked answer waits 30 seconds for a better one and no longer', async (t) => {
  const [a, b, c] = three();
  const turn = think(t, [a, b, c]);
  await c.last.answer('third');
  t.mock.timers.tick(29_000);
  await b.last.answer('second');
  assert.equal(brief(turn.now()), 'thinking');
  t.mock.timers.tick(1_000);
  await settled();
  assert.equal(brief(turn.now()), 'b: second');
  assert.deepEqual(results(turn.steps), ['a outranked', 'b answer', 'c answer']);
  assert.ok(a.last.stop.stopped);
});

test('the best answer ends the turn, and whoever is still asked is outranked', async (t) => {
  const [a, b, c] = three();
  const turn = think(t, [a, b, c]);
  await a.last.answer('first');
  assert.equal(brief(turn.now()), 'a: first');
  assert.deepEqual(results(turn.steps), ['a answer', 'b outranked', 'c outranked']);
  assert.ok(b.last.stop.stopped && c.last.stop.stopped && !a.last.stop.stopped);
});

test('sequential asks as listed, the next one only when the one before has failed', async (t) => {
  const [a, b, c] = three();
  const members = [c, a, b].map((model, at) => ({ model, rank: (at + 2) % 3, retriesMax: 2 }));
  const turn = think(t, [], { dispatch: 'sequential', members });
  assert.deepEqual(
    [a, b, c].map((model) => model.questions.length),
    [0, 0, 1],
  );
  await c.last.fail('server_error');
  assert.deepEqual(
    [a, b, c].map((model) => model.questions.length),
    [1, 0, 1],
  );
  await a.last.answer('one');
  assert.equal(brief(turn.now()), 'a: one');
  assert.equal(b.questions.length, 0);
  assert.deepEqual(results(turn.steps), ['a answer', 'c server_error']);
});

test('a private brain asks no cloud model, and says what it dropped', async (t) => {
  const [a, b] = [new ScriptedModel('a', 'cloud'), new ScriptedModel('b')];
  const turn = think(t, [a, b], { sensitivity: 'private' });
  await b.last.answer('here');
  assert.equal(brief(turn.now()), 'b: here');
  assert.equal(a.questions.length, 0);
  assert.deepEqual(turn.steps[0], { kind: 'shield', dropped: ['local_runtime/a'], kept: 1 });
  assert.equal(b.last.request.sensitivity, 'private');
});

test('a private brain without a local model answers nobody', async (t) => {
  const a = new ScriptedModel('a', 'cloud');
  const turn = think(t, [a], { sensitivity: 'private' });
  assert.equal(brief(await turn.decision), 'no_answer');
  assert.deepEqual(turn.steps, [{ kind: 'shield', dropped: ['local_runtime/a'], kept: 0 }]);
});

test('what is answered beside the reply is kept, cut; what is answered alone is not', async (t) => {
  const long = 'x'.repeat(1_998) + '\u{1F600}'.repeat(9);
  const alone = new ScriptedModel('a');
  const one = think(t, [alone]);
  await alone.last.answer('the reply');
  assert.deepEqual([brief(one.now()), one.unsent], ['a: the reply', []]);
  t.mock.timers.reset();
  const [a, b, c] = three();
  const turn = think(t, [a, b, c], { policy: createConsensus() });
  await b.last.answer('same');
  await c.last.answer(long);
  await a.last.answer('same');
  assert.equal(brief(turn.now()), 'a: same');
  const [agreed, dissenting] = turn.unsent;
  assert.deepEqual(agreed, { model: b.name, text: 'same' });
  assert.equal(dissenting?.text.length, 2_000);
  assert.ok(dissenting.text.isWellFormed() && dissenting.text.endsWith('…'));
});

test('an answer beside the reply has the notice of a cut text', async (t) => {
  const [a, b, c] = three();
  const asking = c.ask.bind(c);
  c.ask = async (...request) => ({ ...(await asking(...request)), isCut: true }) as never;
  const turn = think(t, [a, b, c], { policy: createConsensus() });
  await a.last.answer('same');
  await c.last.answer('It began');
  await b.last.answer('same');
  assert.equal(brief(turn.now()), 'a: same');
  assert.match(turn.unsent.at(-1)?.text ?? '', /^It began\n\n\[This answer was cut off/);
});

test('where the models do not agree, all that they answered is kept', async (t) => {
  const [a, b, c] = three();
  const turn = think(t, [a, b, c], { policy: createConsensus() });
  await a.last.answer('one');
  await b.last.answer('two');
  await c.last.fail('unauthorized');
  assert.equal(brief(turn.now()), 'no_consensus');
  assert.deepEqual(
    turn.unsent.map(({ text }) => text),
    ['one', 'two'],
  );
});
