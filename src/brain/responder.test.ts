import assert from 'node:assert/strict';
import { test } from 'node:test';
import { think, type Asking } from '../../test/fake/thinking.ts';
import { ScriptedModel, settled } from '../../test/fake/scripted-model.ts';
import type { Decision } from '../domain/decision.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { TraceStep } from '../domain/trace.ts';
import { Stopper } from '../lib/stop.ts';
import type { Policy } from '../policy/policy.ts';
import { createConsensus } from '../policy/consensus.ts';

const brief = (decision: Decision | null): string =>
  decision === null
    ? 'thinking'
    : decision.kind === 'reply'
      ? `${decision.model.split('/')[1]}: ${decision.text}`
      : decision.apology;

/** `a answer`, `b outranked` … in the trace's order. */
const results = (steps: readonly TraceStep[]): readonly string[] =>
  steps.flatMap((step) =>
    step.kind === 'model' ? [`${step.model.split('/')[1]} ${step.result}`] : [],
  );

test('one model is asked once, and its answer is the reply', async (t) => {
  const a = new ScriptedModel('a');
  const before = { at: 0, text: 'before', reply: 'so it was' };
  const history: TurnRow[] = [{ ...before, sensitivity: 'public' }];
  const turn = think(t, [a], { history });
  const { purse: _, ...request } = a.last.request;
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

type Three = [ScriptedModel, ScriptedModel, ScriptedModel];
const three = (): Three => [new ScriptedModel('a'), new ScriptedModel('b'), new ScriptedModel('c')];

test('the best answer ends the turn, and whoever is still asked is outranked', async (t) => {
  const [a, b, c] = three();
  const turn = think(t, [a, b, c]);
  await a.last.answer('first');
  assert.equal(brief(turn.now()), 'a: first');
  assert.deepEqual(results(turn.steps), ['a answer', 'b outranked', 'c outranked']);
  assert.ok(b.last.stop.stopped && c.last.stop.stopped && !a.last.stop.stopped);
});

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
