import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, neverStopped, requestOf } from '../../../test/contract/model.ts';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../../test/fake/openai.ts';
import { FakeBudgetGuard } from '../../../test/fake/budget-guard.ts';
import type { Step } from '../../../test/fake/model-server.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Unpaid } from '../../domain/spend.ts';
import { Stopper } from '../../lib/stop.ts';

const hosted = { provider: 'hosted_runtime', modelId: 'gpt-test' } as const;
const local = { provider: 'local_runtime', modelId: 'llama3' } as const;
const costing = { locality: 'cloud', outputTokensMax: 50 } as const;

const triesOf = ({ tries }: Outcome) => tries.map(({ failed, tokens }) => ({ failed, tokens }));

test('both wires tell the provider how long an answer may be, where that is written', async () => {
  await using bench = new Bench();
  await using ollama = await startFakeOllama();
  await using openai = await startFakeOpenai();
  for (const outputTokensMax of [null, 50]) {
    await bench.build(local, ollama.url, { outputTokensMax }).ask(requestOf(), neverStopped);
    await bench.build(hosted, openai.url, { outputTokensMax }).ask(requestOf(), neverStopped);
  }
  const [free, bounded] = ollama.calls.map(({ body }) => body as Record<string, unknown>);
  assert.deepEqual([free!['options'], bounded!['options']], [undefined, { num_predict: 50 }]);
  const [withoutLimit, withLimit] = openai.calls.map(({ body }) => body as Record<string, unknown>);
  assert.deepEqual([withoutLimit!['max_tokens'], withLimit!['max_tokens']], [undefined, 50]);
});

test('a model that takes the limit in the other field is asked once more', async () => {
  await using bench = new Bench();
  const error = {
    code: 'unsupported_parameter',
    param: 'max_tokens',
    message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
  };
  const refuses: Step = { status: 400, body: JSON.stringify({ error }) };
  await using openai = await startFakeOpenai(({ body }) =>
    'max_tokens' in (body as object) ? refuses : { answer: 'hello' },
  );
  const model = bench.build(hosted, openai.url, costing);
  const budgetGuard = new FakeBudgetGuard();
  const first = await model.ask(requestOf({ budgetGuard }), neverStopped);
  assert.equal(first.kind, 'answer');
  await model.ask(requestOf({ budgetGuard }), neverStopped);
  const fields = openai.calls.map(({ body }) => Object.keys(body as object).filter(isLimit));
  assert.deepEqual(fields, [['max_tokens'], ['max_completion_tokens'], ['max_completion_tokens']]);
  const nothing = { input: 0, output: 0, estimated: false };
  const answered = { input: 19, output: 10, estimated: false };
  assert.deepEqual(
    budgetGuard.calls.map(({ used }) => used),
    [nothing, answered, answered],
  );
});

const isLimit = (key: string): boolean => key.startsWith('max_');

test('before a try all it may use is reserved: a token for two bytes, and the answer', async () => {
  await using bench = new Bench();
  await using openai = await startFakeOpenai({ answer: 'hello' });
  const budgetGuard = new FakeBudgetGuard();
  const price = { input: '0.15', output: '0.6' };
  const model = bench.build(hosted, openai.url, { ...costing, price });
  const lines = [{ role: 'user', text: 'Übermäßig größer 👋' }] as const;
  const outcome = await model.ask(requestOf({ budgetGuard, lines }), neverStopped);
  const [call] = budgetGuard.calls;
  assert.deepEqual(call!.payable, { model: 'hosted_runtime/gpt-test', price, costs: true });
  const input = Math.ceil(Buffer.byteLength(openai.calls[0]!.text) / 2);
  assert.deepEqual(call!.most, { input, output: 50 });
  const tokens = { input: 19, output: 10, estimated: false };
  assert.deepEqual(triesOf(outcome), [{ failed: null, tokens }]);
});

test('what is free is local and has no price', async () => {
  await using bench = new Bench();
  await using ollama = await startFakeOllama();
  const budgetGuard = new FakeBudgetGuard();
  for (const price of [null, { input: '0', output: '0' }]) {
    await bench.build(local, ollama.url, { price }).ask(requestOf({ budgetGuard }), neverStopped);
  }
  assert.deepEqual(
    budgetGuard.calls.map(({ payable }) => payable.costs),
    [false, true],
  );
});

test('what a call used is what its provider told, or what it may have used', async () => {
  await using bench = new Bench();
  await using openai = await startFakeOpenai();
  const budgetGuard = new FakeBudgetGuard();
  const model = bench.build(hosted, openai.url, { ...costing, timeoutMs: 100 });
  const spent = async (step: Step) => {
    await openai.script(step);
    const outcome = await model.ask(requestOf({ budgetGuard }), neverStopped);
    const { most, used } = budgetGuard.calls.at(-1)!;
    return { most, used, tries: triesOf(outcome) };
  };
  const silent = await spent({ answer: 'hello', more: { usage: null } });
  assert.equal(silent.used!.input, silent.most.input);
  assert.ok(silent.used!.estimated && silent.used!.output > 0 && silent.used!.output <= 50);
  const half = await spent({ answer: 'hello', more: { usage: { prompt_tokens: 7 } } });
  assert.deepEqual([half.used!.input, half.used!.estimated], [7, true]);
  const odd = await spent({
    answer: 'hello',
    more: { usage: { prompt_tokens: -4, completion_tokens: 1e99 } },
  });
  assert.deepEqual(odd.used, silent.used);
  const empty = await spent({ answer: '' });
  assert.deepEqual(empty.used, { input: 19, output: 10, estimated: false });
  assert.deepEqual(empty.tries, [{ failed: 'empty_answer', tokens: empty.used }]);
  const refused = await spent({ fail: '429' });
  assert.deepEqual(refused.used, { input: 0, output: 0, estimated: false });
  assert.deepEqual(refused.tries, [{ failed: 'rate_limited', tokens: undefined }]);
  const reported = await spent({
    status: 500,
    body: '{"error":{},"usage":{"prompt_tokens":3,"completion_tokens":2}}',
  });
  assert.deepEqual(reported.used, { input: 3, output: 2, estimated: false });
  const lost = await spent({ fail: 'reset' });
  assert.deepEqual(lost.used, { ...lost.most, estimated: true });
  assert.deepEqual(lost.tries, [{ failed: 'connection_lost', tokens: lost.used }]);
});

test('what a provider tells that cannot be is not believed', async () => {
  await using bench = new Bench();
  await using openai = await startFakeOpenai();
  const budgetGuard = new FakeBudgetGuard();
  const model = bench.build(hosted, openai.url, costing);
  const spent = async (usage: object | null) => {
    await openai.script({ answer: 'hello', more: { usage } });
    await model.ask(requestOf({ budgetGuard }), neverStopped);
    return budgetGuard.calls.at(-1)!.used;
  };
  const estimated = await spent(null);
  const most = Number.MAX_SAFE_INTEGER;
  for (const count of [most, 1_000_000_001, 0, 0.5, '7']) {
    const usage = { prompt_tokens: count, completion_tokens: count };
    assert.deepEqual(await spent(usage), estimated, String(count));
  }
});

test('what a model thought counts, also where it is left out of the answer', async () => {
  await using bench = new Bench();
  const usage = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 429 };
  await using openai = await startFakeOpenai({ answer: 'hello', more: { usage } });
  const budgetGuard = new FakeBudgetGuard();
  await bench.build(hosted, openai.url, costing).ask(requestOf({ budgetGuard }), neverStopped);
  assert.deepEqual(budgetGuard.calls[0]!.used, { input: 19, output: 410, estimated: false });
});

test('a model whose call its provider refused has worked', async () => {
  await using bench = new Bench();
  const error = { code: 'tool_use_failed', message: 'Failed to call a function.' };
  await using openai = await startFakeOpenai({ status: 400, body: JSON.stringify({ error }) });
  const budgetGuard = new FakeBudgetGuard();
  const model = bench.build(hosted, openai.url, costing);
  const outcome = await model.ask(requestOf({ budgetGuard }), neverStopped);
  assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'tool_call_malformed');
  const { most, used } = budgetGuard.calls[0]!;
  assert.equal(used!.input, most.input);
  assert.ok(used!.estimated && used!.output > 0);
});

test('a call that is given up may have used all that was reserved', async () => {
  await using bench = new Bench();
  const never = new Promise<void>(() => {});
  await using openai = await startFakeOpenai({ answer: 'late', after: never });
  const stopper = new Stopper();
  const budgetGuard = new FakeBudgetGuard();
  const asked = bench.build(hosted, openai.url, costing).ask(requestOf({ budgetGuard }), stopper);
  await openai.call(0);
  stopper.stop();
  await asked;
  const { most, used } = budgetGuard.calls[0]!;
  assert.deepEqual(used, { ...most, estimated: true });
  await using ollama = await startFakeOllama({ answer: 'late', after: never });
  const second = new Stopper();
  const freely = bench.build(local, ollama.url, { outputTokensMax: 9 });
  const waits = freely.ask(requestOf({ budgetGuard }), second);
  await ollama.call(0);
  second.stop();
  await waits;
  const call = budgetGuard.calls[1]!;
  assert.deepEqual(call.used, { input: call.most.input, output: 0, estimated: true });
});

test('what was never sent used nothing, and is no call', async () => {
  await using bench = new Bench();
  await using openai = await startFakeOpenai({ fail: 'refused' });
  const budgetGuard = new FakeBudgetGuard();
  const outcome = await bench
    .build(hosted, openai.url, costing)
    .ask(requestOf({ budgetGuard }), neverStopped);
  assert.deepEqual(triesOf(outcome), [{ failed: 'connect_failed', tokens: undefined }]);
  assert.equal(budgetGuard.calls[0]!.used, null);
});

test('a call that is not paid for is not made, and is no failure of the model', async () => {
  await using bench = new Bench();
  await using openai = await startFakeOpenai();
  const model = bench.build(hosted, openai.url, costing);
  const unpaid = async (why: Unpaid) => {
    const budgetGuard = { reserve: () => Promise.resolve(why) };
    const outcome = await model.ask(requestOf({ budgetGuard }), neverStopped);
    assert.ok(outcome.kind === 'failed');
    const { kind, opensAt, retryable } = outcome.failure;
    return [kind, opensAt, retryable, outcome.tries.length];
  };
  const over = await unpaid({ kind: 'over_budget', opensAt: 77 });
  assert.deepEqual(over, ['over_budget', 77, false, 0]);
  const turn = await unpaid({ kind: 'over_budget', opensAt: null });
  assert.deepEqual(turn, ['over_budget', undefined, false, 0]);
  assert.deepEqual(await unpaid({ kind: 'unwritten' }), ['fault', undefined, false, 0]);
  assert.equal(openai.calls.length, 0);
});
