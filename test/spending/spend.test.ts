/** The running program reserves and charges the costs of its models, and budgets refuse calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../src/admin/admin.ts';
import type { Story } from '../../src/domain/story.ts';
import type { TraceStep } from '../../src/domain/trace.ts';
import { asks, inTurn } from '../agents/stage.ts';
import { resultOf, start as startTrials } from '../config/trials-program.ts';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

/** The usage that the fake reports for each answer. */
const told = { input: 19, output: 10, estimated: false, cached: null };
const price = { input: 2, output: 0.5 };
/** Longer than any request of these tests. */
const roomy = 10_000;

type ModelStep = Extract<TraceStep, { kind: 'model' }>;

/**
 * @param brain `models` follow the model with a price
 * @param more fields of the model with a price
 */
async function start(
  script: Script,
  brain: object,
  models: readonly object[] = [],
  more: object = {},
) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const costing = stack.use(await startFakeOpenai(script));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: costing.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const first = costingModel(costing, 'big', more);
  const whole = { sensitivity: 'public', ...brain, models: [first, ...models] };
  Object.assign(config.brains[0]!, whole);
  const stored = { ...config, storage: { path: 'svc.db' } };
  const file = await writeConfig(folder.path, stored);
  const program = stack.use(await serveHere(file, port, { API_KEY: 'a-key-of-the-tests' }));
  const origin = `http://127.0.0.1:${adminPort}`;
  const read = async (path: string): Promise<unknown> => (await fetch(`${origin}${path}`)).json();
  let sent = 0;
  return {
    costing,
    program,
    file,
    read,
    /** Sends a message; resolves with the reply, and the models' steps of the turn. */
    async say(text: string, sender = 'ada') {
      const { body } = await post(program.url, { sender_id: sender, text });
      const id = String(body['message_id']);
      const replies = await receiver.waitFor(++sent);
      const story = (await read(`/api/v1/messages/${id}`)) as Story;
      const steps = story.trace!.steps.filter((step): step is ModelStep => step.kind === 'model');
      return { id, reply: String(replies[sent - 1]!.body['text']), story, steps };
    },
    async restart(): Promise<void> {
      await program.stop();
      stack.use(await serveHere(file, port, { API_KEY: 'a-key-of-the-tests' }));
    },
    metrics: async () => (await fetch(`${origin}/metrics`)).text(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function costingModel({ url }: FakeModel, id: string, more: object = {}): object {
  return {
    provider: 'hosted_runtime',
    model_id: id,
    locality: 'cloud',
    base_url: url,
    api_key_env: 'API_KEY',
    max_output_tokens: 100,
    max_retries: 1,
    price,
    ...more,
  };
}

function freeModel({ url }: FakeModel): object {
  return { provider: 'local_runtime', model_id: 'llama3', locality: 'local', base_url: url };
}

const seriesOf = (page: string): readonly string[] =>
  page.split('\n').filter((line) => line.startsWith('svc_tokens_total{'));

test('tokens and cost of each call are in the trace, and counted by brain and model', async () => {
  await using started = await start({ answer: 'hello' }, {});
  const { id, steps } = await started.say('hi');
  const [step] = steps;
  assert.deepEqual(step!.tries[0]!.tokens, told);
  assert.equal(step!.cost, '0.000043');
  const where = 'brain="echo",provider="hosted_runtime",model="hosted_runtime/big"';
  assert.deepEqual(seriesOf(await started.metrics()), [
    `svc_tokens_total{${where},kind="input"} 19`,
    `svc_tokens_total{${where},kind="output"} 10`,
  ]);
  const { out } = await runCommand(['trace', id, '--config', started.file]);
  assert.match(out, /answer \(rank 1\), 19 tokens in, 10 out, cost 0\.000043/);
  assert.match(out, /^19 tokens in, 10 out, cost 0\.000043$/m);
});

test("tokens from the provider's cache have their price in spend, trace and metrics", async () => {
  const cost = { input: 2, output: 0.5, cached_input: 0.2 };
  const prompt_tokens_details = { cached_tokens: 15 };
  const usage = { prompt_tokens: 19, completion_tokens: 10, prompt_tokens_details };
  const cached = { answer: 'hello', more: { usage } };
  await using started = await start(cached, {}, [], { price: cost });
  const { id, steps } = await started.say('hi');
  const [step] = steps;
  assert.deepEqual(step!.usage, { inputTokens: 19, outputTokens: 10, cachedTokens: 15 });
  assert.deepEqual(step!.tries[0]!.tokens, { ...told, cached: 15 });
  assert.equal(step!.cost, '0.000016');
  const where = 'brain="echo",provider="hosted_runtime",model="hosted_runtime/big"';
  const page = await started.metrics();
  assert.ok(page.includes(`svc_tokens_total{${where},kind="input"} 19\n`), page);
  assert.ok(page.includes(`svc_cached_tokens_total{${where}} 15\n`), page);
  const reuse = 'svc_prompt_reuse_ratio_sum{model="hosted_runtime/big",source="provider"}';
  assert.ok(page.includes(`${reuse} ${15 / 19}\n`), page);
  const { out } = await runCommand(['trace', id, '--config', started.file]);
  assert.match(out, /19 tokens in, 10 out, cost 0\.000016; 15 of 19 tokens from the cache/);
  const { rows } = (await started.read('/api/v1/spend?by=model')) as { rows: readonly object[] };
  const [{ calls, tokens, cost: sum }] = rows as [{ calls: number; tokens: object; cost: string }];
  assert.deepEqual([calls, tokens, sum], [1, { input: 19, output: 10 }, '0.000016']);
});

test('how much of a prompt was there before is in the trace and the metrics', async () => {
  await using started = await start({ answer: 'hello' }, {});
  const first = await started.say('hi');
  const second = await started.say('and now?');
  await started.say('I am somebody else', 'bob');
  assert.deepEqual([first.steps[0]!.reuse, second.steps[0]!.reuse], [null, 1]);
  const page = await started.metrics();
  const where = 'model="hosted_runtime/big",source="prefix"';
  assert.ok(page.includes('# TYPE svc_prompt_reuse_ratio summary\n'), page);
  assert.ok(page.includes(`svc_prompt_reuse_ratio_sum{${where}} 1\n`), page);
  assert.ok(page.includes(`svc_prompt_reuse_ratio_count{${where}} 1\n`), page);
  const { out } = await runCommand(['trace', second.id, '--config', started.file]);
  assert.match(out, /cost [\d.]+; begins with 100 % of the last prompt$/m);
});

test('fan-out reserves for each model; a loser is charged what was reserved at most', async () => {
  const never = new Promise<void>(() => {});
  await using slow = await startFakeOpenai({ answer: 'late', after: never });
  const models = [costingModel(slow, 'slow')];
  await using started = await start({ answer: 'hello' }, {}, models);
  const { reply, steps } = await started.say('hi');
  assert.equal(reply, 'hello');
  const loser = steps.find(({ model }) => model === 'hosted_runtime/slow')!;
  const input = Math.ceil(Buffer.byteLength(slow.calls[0]!.text) / 2);
  const reserved = { input, output: 100, estimated: true, cached: null };
  assert.deepEqual(loser.tries[0]!.tokens, reserved);
  const line = `model="hosted_runtime/slow",kind="output"} 100`;
  await until('the loser is charged', async () => (await started.metrics()).includes(line));
});

test('a model that does not fit is not asked, and one that is free answers', async () => {
  await using free = await startFakeOllama({ answer: 'from here' });
  const brain = { budget: { tokens_per_day: 100 } };
  await using started = await start({ answer: 'hello' }, brain, [freeModel(free)]);
  const { reply, steps } = await started.say('hi');
  assert.equal(reply, 'from here');
  assert.deepEqual(
    steps.map(({ result, tries }) => [result, tries.length]),
    [
      ['over_budget', 0],
      ['answer', 1],
    ],
  );
  assert.equal(started.costing.calls.length, 0);
  const { warnings } = (await started.read('/api/v1/status')) as Pick<Status, 'warnings'>;
  const { path, message } = warnings.find(({ code }) => code === 'budget_used_up')!;
  assert.equal(path, 'brains[0].budget.tokens_per_day');
  assert.equal(message, 'A call did not fit into what is left of a budget for today');
  assert.doesNotMatch(started.program.log(), /model_failed/, 'the model has not failed');
  assert.match(
    started.program.log(),
    /A call of the brain echo did not fit into what is left of budget\.tokens_per_day for today/,
  );
});

test('after a restart it is known that a budget is nearly used', async () => {
  const brain = { budget: { tokens_per_day: 1_000 } };
  await using started = await start({ answer: 'hello' }, brain, [], { max_output_tokens: 20 });
  const codes = async () => {
    const { warnings } = (await started.read('/api/v1/status')) as Pick<Status, 'warnings'>;
    return warnings.map(({ code }) => code).filter((code) => code.startsWith('budget_'));
  };
  const ofOne = told.input + told.output;
  // Each person writes once, so that no history makes a call larger.
  for (let used = 0; used < 800; used += ofOne) await started.say('hi', `person ${used}`);
  assert.deepEqual(await codes(), []);
  await started.restart();
  await until('it is known again', async () => (await codes())[0] === 'budget_nearly_used');
});

test('where none is left, the person is told when it answers again', async () => {
  await using started = await start({ answer: 'hello' }, { budget: { cost_per_day: 0.00023 } });
  assert.equal((await started.say('hi')).reply, 'hello');
  const { reply, story } = await started.say('hi again');
  const tomorrow = 'I have used what I may use for one day. I can answer again tomorrow at 00:00.';
  assert.equal(reply, tomorrow);
  assert.equal(story.trace!.outcome, 'over_budget');
});

test('one message that is too large is told so; others are answered', async () => {
  await using started = await start({ answer: 'hello' }, { budget: { tokens_per_turn: 400 } });
  const { reply } = await started.say('word '.repeat(200));
  const large = 'This would take more than I may use for one message.';
  assert.ok(reply.startsWith(large), reply);
  assert.equal((await started.say('hi', 'bob')).reply, 'hello');
});

test('what one person used says nothing of another, whom the warnings do not name', async () => {
  const budget = { tokens_per_sender_per_day: 220 };
  await using started = await start({ answer: 'hello' }, { budget });
  assert.equal((await started.say('hi')).reply, 'hello');
  const more = 'word '.repeat(8);
  assert.match((await started.say(more)).reply, /used what I may use for one day/);
  assert.equal((await started.say('hi', 'bob')).reply, 'hello');
  const [line = ''] = /.*budget_used_up.*/.exec(started.program.log()) ?? [];
  assert.doesNotMatch(line, /ada|bob/);
});

test('each retry is reserved for and charged', async () => {
  const cutOnce: Script = (_call, before) => (before === 0 ? { fail: 'cut' } : { answer: 'hello' });
  await using started = await start(cutOnce, {}, []);
  const { steps } = await started.say('hi');
  const [lost, answered] = steps[0]!.tries;
  assert.deepEqual([lost!.failed, answered!.tokens], ['connection_lost', told]);
  const input = Math.ceil(Buffer.byteLength(started.costing.calls[0]!.text) / 2);
  assert.deepEqual(lost!.tokens, { input, output: 100, estimated: true, cached: null });
  assert.ok((await started.metrics()).includes(`kind="output"} 110`));
});

test('each step of an agent is charged', async () => {
  const script = inTurn(asks('calc', { expression: '6*7' }), { answer: 'It is 42.' });
  const agent = { tools: ['calc'] };
  await using started = await start(script, { agent, budget: { tokens_per_turn: roomy } });
  const { reply, steps } = await started.say('six times seven?');
  assert.equal(reply, 'It is 42.');
  assert.deepEqual(
    steps.map(({ tries }) => tries.map(({ tokens }) => tokens)),
    [[told], [told]],
  );
});

test('an agent whose next step does not fit ends with the apology', async () => {
  const long = `Let me see. ${'word '.repeat(1_000)}`;
  const script = inTurn(asks('calc', { expression: '6*7' }, long), { answer: 'It is 42.' });
  const agent = { tools: ['calc'] };
  await using started = await start(script, { agent, budget: { tokens_per_turn: 2_000 } });
  const { reply, story } = await started.say('six times seven?');
  assert.match(reply, /^This would take more than I may use for one message\./);
  assert.deepEqual([story.trace!.outcome, started.costing.calls.length], ['over_budget', 1]);
});

test('a trial is charged where turns are, and its budget holds', async () => {
  await using started = await startTrials();
  const models = [costingModel(started.hosted, 'big')];
  const config = started.draft({ sensitivity: 'public', models, budget: { tokens_per_day: 300 } });
  const first = resultOf(await started.tryIt(config));
  assert.equal(first.decision.kind, 'reply');
  const long = resultOf(await started.tryIt(config, { text: 'word '.repeat(55) }));
  assert.ok(long.decision.kind === 'apology');
  assert.equal(long.decision.apology, 'over_budget');
  assert.match(long.decision.text, /tomorrow at 00:00/);
  assert.ok((await started.metrics()).includes('model="hosted_runtime/big",kind="input"} 19'));
});
