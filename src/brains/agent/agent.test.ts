import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, call, calls, results, Stage, type Said } from '../../../test/agents/play.ts';
import { fakeTool } from '../../../test/fake/tools.ts';
import type { ModelRequest, RequestLine } from '../models/model.ts';

const calc = () => fakeTool('calc', 'expression', { does: (given) => `${given} = 2` });
const sum = (given: unknown = { expression: '1+1' }) => call('calc', given);
/** The tools that the model may call; the last request may name others, too. */
const toolsOf = (asked: Pick<ModelRequest, 'tools' | 'mayCall'>): readonly string[] =>
  asked.mayCall === false ? [] : asked.tools.map(({ name }) => name);

test('an answer without tools is the reply, after one question', async () => {
  const stage = new Stage({ tools: [calc()] });
  const played = await stage.play(['hello']);
  assert.equal(brief(played), 'hello');
  assert.equal(played.requests.length, 1);
  assert.deepEqual(toolsOf(played.requests[0]!), ['calc']);
  assert.equal(played.decision.why, 'answered at step 1 after no tool');
});

test('a tool is run, and its result goes in as data between marks', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool] });
  const asked = sum();
  const played = await stage.play([{ calls: [asked], text: 'Let me see.' }, 'It is 2.'], {
    history: [{ at: 0, text: 'before', reply: null, sensitivity: 'public' }],
  });
  assert.equal(brief(played), 'It is 2.');
  assert.deepEqual(tool.ran, [{ expression: '1+1' }]);
  const result = '[data MARK] result of calc\n1+1 = 2\n[end MARK]';
  assert.deepEqual(played.requests[1]!.lines, [
    { role: 'user', text: 'before' },
    { role: 'user', text: 'hi' },
    { role: 'calls', text: 'Let me see.', calls: [asked] },
    { role: 'result', call: asked, text: result },
  ] satisfies RequestLine[]);
  assert.equal(played.requests[1]!.keptFrom, 1);
  assert.equal(played.decision.why, 'answered at step 2 after one tool call');
  const [use] = played.uses;
  assert.deepEqual(
    { ...use, at: 0, ms: 0 },
    {
      key: 'message:1:0',
      at: 0,
      ms: 0,
      tool: 'calc',
      mode: 'allow',
      rule: 'no_governance',
      outcome: 'done',
      arguments: '{"expression":"1+1"}',
      told: '1+1 = 2',
    },
  );
  assert.deepEqual(
    played.steps.map(({ kind }) => kind),
    ['model', 'tool', 'model'],
  );
});

for (const stepsMax of [2, 3, 5]) {
  test(`of ${stepsMax} steps the last has no tools and asks for the answer`, async () => {
    const tool = calc();
    const stage = new Stage({ tools: [tool], stepsMax });
    const script: Said[] = Array.from({ length: stepsMax - 1 }, (_, n) =>
      calls(sum({ expression: `${n}` })),
    );
    const played = await stage.play([...script, 'This is all I have.']);
    assert.equal(brief(played), 'This is all I have.');
    assert.equal(played.requests.length, stepsMax);
    assert.equal(tool.ran.length, stepsMax - 1);
    assert.deepEqual(toolsOf(played.requests.at(-1)!), []);
    assert.match(played.requests.at(-1)!.lines.at(-1)!.text, /\n\nNo tool can be used any more/);
    assert.equal(played.requests.at(-1)!.lines.at(-1)!.role, 'result', 'no person speaks there');
    for (const request of played.requests.slice(0, -1))
      assert.deepEqual(toolsOf(request), ['calc']);
  });
}

test('a model that never stops asking ends honestly, after so many questions', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool], stepsMax: 3 });
  let n = 0;
  const asks = (): Said => calls(sum({ expression: `${n++}` }));
  // Without offered tools, a provider's calls do not count, so its answer is empty.
  const played = await stage.play([asks(), asks(), { fails: 'empty_answer' }]);
  assert.equal(brief(played), '(unfinished)');
  assert.equal(played.requests.length, 3);
  assert.equal(tool.ran.length, 2);
});

test('with one step in all it has tools, and what it asks for is not run', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool], stepsMax: 1 });
  const alone = await stage.play([calls(sum())]);
  assert.equal(brief(alone), '(unfinished)');
  assert.deepEqual(toolsOf(alone.requests[0]!), ['calc']);
  assert.match(alone.requests[0]!.system!, /one step in all/);
  assert.equal(alone.requests.length, 1);
  const beside = await stage.play([{ calls: [sum()], text: 'Done: it is 2.' }]);
  assert.equal(brief(beside), '(unfinished)', 'nothing was done');
  const two = new Stage({ tools: [calc()], stepsMax: 2 });
  const last = await two.play([calls(sum()), { calls: [sum()], text: 'Done, twice.' }]);
  assert.equal(brief(last), '(unfinished)', 'also where no tool was on offer');
  assert.equal(brief(await stage.play(['plain'])), 'plain');
  assert.deepEqual([tool.ran, beside.uses], [[], []]);
});

test('of a thousand calls in one answer eight are run, and the model is told', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool] });
  const many = Array.from({ length: 1_000 }, (_, n) => sum({ expression: `${n}` }));
  const played = await stage.play([{ calls: many }, 'done']);
  assert.equal(tool.ran.length, 8);
  const lines = played.requests[1]!.lines;
  const asked = lines.find((line) => line.role === 'calls')!;
  assert.equal(asked.role === 'calls' && asked.calls.length, 8);
  assert.equal(results(played).length, 8);
  assert.match(lines.at(-1)!.text, /\n\n992 more calls were not run: at most 8 at once\.$/);
});

test('the same call a third time is refused, whatever the order of its arguments', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool] });
  const forms = [
    { expression: '1+1', places: 2 },
    '{"places": 2, "expression": "1+1"}',
    { places: 2, expression: '1+1' },
  ];
  const played = await stage.play([...forms.map((form) => calls(sum(form))), 'two']);
  assert.equal(brief(played), 'two');
  assert.equal(tool.ran.length, 2);
  assert.match(results(played)[2]!, /was run before, and gives nothing new/);
  assert.deepEqual(
    played.uses.map(({ outcome, rule }) => `${outcome} ${rule}`),
    ['done no_governance', 'done no_governance', 'refused repeated'],
  );
});

test('wrong arguments are told to the model, and right ones after them run', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool] });
  const wrong = [{}, 'no JSON {', [1], 7, null, { expression: 4 }, { a: 1, b: 2 }];
  for (const given of wrong) {
    tool.ran.length = 0;
    const played = await stage.play([calls(sum(given)), calls(sum()), 'two']);
    assert.equal(brief(played), 'two', JSON.stringify(given));
    const ran = given === 'no JSON {' ? 2 : 1;
    assert.equal(tool.ran.length, ran, `one text is the one parameter: ${JSON.stringify(given)}`);
    if (ran === 1) assert.match(results(played)[0]!, /The call was not run\. /);
  }
});

test('two answers in a row with nothing but wrong arguments end the use of tools', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool] });
  const wrong = calls(sum({}));
  const played = await stage.play([wrong, wrong, 'I cannot.']);
  assert.equal(brief(played), 'I cannot.');
  assert.equal(played.requests.length, 3);
  assert.deepEqual(toolsOf(played.requests[2]!), []);
  const between = await stage.play([wrong, calls(sum()), wrong, calls(sum()), 'At last.']);
  assert.equal(between.requests.length, 5);
  assert.deepEqual(toolsOf(between.requests[3]!), ['calc']);
});

test('arguments that are too deep or too long are told, and not sent back', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool] });
  let deep: unknown = 1;
  for (let n = 0; n < 100_000; n++) deep = [deep];
  for (const given of [{ expression: deep }, { expression: 'x'.repeat(4_000_000) }]) {
    const played = await stage.play([calls(sum(given)), 'Sorry.']);
    assert.equal(brief(played), 'Sorry.');
    assert.match(results(played)[0]!, /too long or too deep/);
    assert.ok(JSON.stringify(played.requests[1]).length < 10_000);
    assert.ok(JSON.stringify(played.uses).length < 10_000);
  }
  assert.deepEqual([tool.ran, stage.faults], [[], []]);
});

test('calls go back to their model as any provider takes them', async () => {
  const stage = new Stage({ tools: [calc()] });
  const odd = [
    { id: '', name: 'calc', arguments: '{"expression": "1+1"}' },
    { id: 'same', name: 'calc', arguments: '1+2' },
    { id: 'same', name: 'no such\ntool!', arguments: [1] },
    { id: 'x'.repeat(500), name: 'y'.repeat(500), arguments: undefined },
  ];
  const played = await stage.play([{ calls: odd }, { calls: odd.slice(0, 2) }, 'ok']);
  const resultLines = played.requests[2]!.lines.flatMap((line) =>
    line.role === 'calls' ? line.calls : [],
  );
  assert.deepEqual(resultLines, [
    { id: 'call00001', name: 'calc', arguments: { expression: '1+1' } },
    { id: 'same', name: 'calc', arguments: { value: '1+2' } },
    { id: 'call00002', name: 'no_such_tool_', arguments: { value: [1] } },
    { id: 'call00003', name: 'y'.repeat(64), arguments: {} },
    { id: 'call00004', name: 'calc', arguments: { expression: '1+1' } },
    { id: 'call00005', name: 'calc', arguments: { value: '1+2' } },
  ]);
});

test('what a model made up as the name of a tool stands nowhere but in the arguments', async () => {
  const stage = new Stage({ tools: [calc()] });
  const played = await stage.play([calls(call('my password is hunter2', { a: 1 })), 'ok']);
  assert.deepEqual(
    played.uses.map(({ tool, outcome, rule, arguments: given }) => [tool, outcome, rule, given]),
    [['unlisted', 'denied', 'not_listed', 'my password is hunter2 {"a":1}']],
  );
  assert.doesNotMatch(JSON.stringify(played.steps), /hunter2/);
});

test('an empty answer costs a step, and the next one asks for the answer', async () => {
  const stage = new Stage({ tools: [calc()] });
  const played = await stage.play([calls(sum()), { fails: 'empty_answer' }, 'It is 2.']);
  assert.equal(brief(played), 'It is 2.');
  assert.deepEqual(toolsOf(played.requests[2]!), []);
  const silent = await stage.play([{ fails: 'empty_answer' }]);
  assert.equal(brief(silent), '(no_answer)');
  assert.equal(silent.requests.length, 2);
  const stuck = await stage.play([calls(sum()), { fails: 'empty_answer' }]);
  assert.equal(brief(stuck), '(unfinished)');
});

test("a provider's failure is told by the right sentence, also between two tools", async () => {
  const expected = { rate_limited: 'busy', timeout: 'busy', rejected: 'no_answer', fault: 'fault' };
  for (const [fails, apology] of Object.entries(expected)) {
    const stage = new Stage({ tools: [calc()] });
    const failure = { fails } as Said;
    assert.equal(brief(await stage.play([failure])), `(${apology})`);
    assert.equal(brief(await stage.play([calls(sum()), failure])), `(${apology})`);
  }
});

test('a fault in the loop is told to the operator, and the person gets a sentence', async () => {
  const broken = new Error('broken');
  const stage = new Stage({
    tools: [calc()],
    mark() {
      throw broken;
    },
  });
  assert.equal(brief(await stage.play(['never'])), '(fault)');
  assert.deepEqual(stage.faults, [broken]);
});

test('a private agent without a local model answers nobody; else the best is asked', async () => {
  const { ScriptedModel } = await import('../../../test/fake/scripted-model.ts');
  const [cloud, second] = [new ScriptedModel('cloud', 'cloud'), new ScriptedModel('second')];
  const stage = new Stage({ sensitivity: 'private' });
  const member = (model: InstanceType<typeof ScriptedModel>, rank: number) => ({
    model,
    rank,
    retriesMax: 0,
  });
  const closed = new Stage({ sensitivity: 'private', members: [member(cloud, 0)] });
  assert.equal(brief(await closed.play(['never'])), '(no_answer)');
  const members = [member(second, 2), member(cloud, 0), member(stage.model, 1)];
  const both = new Stage({ sensitivity: 'private', members });
  const asking = both.play(['never']);
  await new Promise((resolve) => setImmediate(resolve));
  await stage.model.last.answer('mine');
  assert.equal(brief(await asking), 'mine');
  assert.deepEqual([cloud.questions.length, second.questions.length], [0, 0]);
});
