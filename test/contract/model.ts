/** The contract of every kind of model, on any wire: run over each kind against a fake. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ModelConfig } from '../../src/config/config.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { createHttpClient, type HttpClient } from '../../src/lib/http-client.ts';
import { stopOf } from '../../src/lib/stop.ts';
import { PlainStop } from '../fake/plain-stop.ts';
import { buildModel, CallBounds } from '../../src/brains/models/build-model.ts';
import { PromptRecords } from '../../src/brains/models/prompt-records.ts';
import { RelayDetections } from '../../src/brains/models/relay-detection.ts';
import type { Model, ModelRequest } from '../../src/brains/models/model.ts';
import { failureNames, failures, upstreamWords } from '../fake/failures.ts';
import type { FakeModel, ModelCall, Script } from '../fake/model-server.ts';
import { fromNow, handClock } from '../support/hand-clock.ts';
import { patienceMs } from '../support/waiting.ts';

export type ModelKind = {
  readonly provider: ModelConfig['provider'];
  readonly modelId: string;
  start(script?: Script): Promise<FakeModel>;
};

const key = 'sk-canary-0123456789';
const secretText = 'my private words 4711';
const retryable = new Set([
  'connect_failed',
  'connect_timeout',
  'connection_lost',
  'rate_limited',
  'overloaded',
  'server_error',
  'empty_answer',
]);

export const neverStopped = new PlainStop();

export function requestOf(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    sensitivity: 'public',
    system: null,
    lines: [{ role: 'user', text: secretText }],
    budgetGuard: new FakeBudgetGuard(),
    keptFrom: (more.lines?.length ?? 1) - 1,
    tools: [],
    deadlineAt: fromNow(600_000),
    ...more,
  };
}

/**
 * Models as one process of the service makes them, and their events. Their time stands still, so
 * that no time limit ends a call on a busy machine.
 */
export class Bench implements AsyncDisposable {
  readonly answered: string[] = [];
  readonly firstWords: (number | undefined)[] = [];
  readonly faults: unknown[] = [];
  readonly clock = handClock();
  readonly bounds = new CallBounds();
  readonly #forwardings = new RelayDetections();
  readonly #prompts = new PromptRecords();
  readonly #http: HttpClient;
  readonly #brain: { readonly brain?: string };

  /** @param brain the owner of the models; absent: none */
  constructor({ http, brain }: { readonly http?: HttpClient; readonly brain?: string } = {}) {
    this.#http = http ?? createHttpClient(this.clock.deadlines, { connectMs: patienceMs });
    this.#brain = brain === undefined ? {} : { brain };
  }

  build(
    kind: Pick<ModelKind, 'provider' | 'modelId'>,
    baseUrl: string,
    more: Partial<ModelConfig> = {},
    apiKey = key,
  ): Model {
    const config: ModelConfig = {
      provider: kind.provider,
      modelId: kind.modelId,
      locality: 'local',
      baseUrl,
      apiKeyEnv: null,
      timeoutMs: 5_000,
      retriesMax: 2,
      outputTokensMax: null,
      contextTokens: null,
      price: null,
      vision: null,
      inFlightMax: 1_000,
      ...more,
    };
    return buildModel(config, apiKey, {
      http: this.#http,
      deadlines: this.clock.deadlines,
      now: this.clock.now,
      steady: this.clock.steady,
      relayDetections: this.#forwardings,
      bounds: this.bounds,
      prompts: this.#prompts,
      ...this.#brain,
      events: {
        modelAsked() {},
        modelAnswered: ({ result, firstWordMs }) => {
          this.answered.push(result);
          this.firstWords.push(firstWordMs);
        },
        faulted: (e) => this.faults.push(e.error),
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.close();
    assert.deepEqual(this.faults, [], 'no bug of ours was contained');
  }
}

/** The failure kind, after proof that it holds no words of the provider or the person. */
export function failedKind(outcome: Outcome): string {
  assert.equal(outcome.kind, 'failed');
  const text = JSON.stringify(outcome);
  for (const words of [upstreamWords, key, secretText]) {
    assert.ok(!text.includes(words), `${words} came out: ${text}`);
  }
  return outcome.kind === 'failed' ? outcome.failure.kind : '';
}

export function testModelContract(kind: ModelKind): void {
  suite(`a ${kind.provider} model`, { concurrency: true }, () => {
    testAnswers(kind);
    testFailures(kind);
    testEndings(kind);
    testLocks(kind);
    testClients(kind);
  });
}

function testAnswers(kind: ModelKind): void {
  test('gives the answer, its usage and its one try, and sends its key', async () => {
    await using fake = await kind.start({ answer: '  hello there\n' });
    await using bench = new Bench();
    const model = bench.build(kind, fake.url);
    const outcome = await model.ask(requestOf(), neverStopped);
    assert.ok(outcome.kind === 'answer');
    assert.equal(outcome.text, 'hello there');
    assert.deepEqual(outcome.calls, []);
    assert.ok((outcome.usage?.inputTokens ?? 0) > 0 && (outcome.usage?.outputTokens ?? 0) > 0);
    assert.deepEqual(
      outcome.tries.map((one) => one.failed),
      [null],
    );
    assert.equal(outcome.linesDropped, 0);
    assert.equal(fake.calls[0]!.headers.authorization, `Bearer ${key}`);
    assert.deepEqual(bench.answered, ['answer']);
    assert.equal(model.name, `${kind.provider}/${kind.modelId}`);
  });

  test('sends the system text first and joins adjacent lines of one role', async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const lines = [
      { role: 'user', text: 'a' },
      { role: 'user', text: 'b' },
      { role: 'assistant', text: 'c' },
      { role: 'user', text: 'd' },
      { role: 'user', text: 'e' },
      { role: 'user', text: 'f' },
    ] as const;
    await bench.build(kind, fake.url).ask(requestOf({ system: 's', lines }), neverStopped);
    assert.deepEqual(messagesOf(fake.calls[0]!), [
      { role: 'system', content: 's' },
      { role: 'user', content: 'a\n\nb' },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'd\n\ne\n\nf' },
    ]);
  });

  test('leaves the thinking before an answer out of it', async () => {
    await using fake = await kind.start({ answer: '<think>\nhm, 7?\n</think>\n\n8' });
    await using bench = new Bench();
    const outcome = await bench.build(kind, fake.url).ask(requestOf(), neverStopped);
    assert.ok(outcome.kind === 'answer');
    assert.equal(outcome.text, '8');
  });

  test('with nothing but thinking, has no answer', async () => {
    await using fake = await kind.start({ answer: '<think>hm' });
    await using bench = new Bench();
    const outcome = await bench.build(kind, fake.url).ask(requestOf(), neverStopped);
    assert.equal(failedKind(outcome), 'empty_answer');
  });
}

function testFailures(kind: ModelKind): void {
  for (const name of failureNames) {
    test(`meets ${name} with ${failures[name]}`, async () => {
      await using fake = await kind.start({ fail: name });
      await using bench = new Bench();
      const timeoutMs = 80;
      const model = bench.build(kind, fake.url, { timeoutMs });
      const asking = model.ask(requestOf(), neverStopped);
      const slow = name === 'hang' || name === 'drip';
      if (slow) {
        await fake.call(0);
        bench.clock.pass(timeoutMs);
      }
      const outcome = await asking;
      assert.equal(failedKind(outcome), failures[name]);
      assert.ok(outcome.kind === 'failed');
      assert.equal(outcome.failure.retryable, retryable.has(failures[name]));
      const wait = name === '429-retry-after' ? 7_000 : null;
      assert.equal(outcome.failure.retryAfterMs, wait);
      assert.deepEqual(
        outcome.tries.map((one) => one.failed),
        [failures[name]],
      );
      assert.equal(outcome.tries[0]!.ms, slow ? timeoutMs : 0, 'its own time limit held');
      assert.deepEqual(bench.answered, [failures[name]]);
    });
  }

  test('waits at most 30 s, however long it is asked to', async () => {
    await using fake = await kind.start({ fail: '429-retry-after', retryAfter: '86400' });
    await using bench = new Bench();
    const outcome = await bench.build(kind, fake.url).ask(requestOf(), neverStopped);
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.failure.retryAfterMs, 30_000);
  });

  test('follows no redirect to anywhere', async () => {
    await using other = await kind.start();
    const path = kind.provider === 'local_runtime' ? '/api/chat' : '/chat/completions';
    await using fake = await kind.start({ fail: 'redirect', location: other.url + path });
    await using bench = new Bench();
    const outcome = await bench.build(kind, fake.url).ask(requestOf(), neverStopped);
    assert.equal(failedKind(outcome), 'redirected');
    assert.equal(other.connections, 0);
  });

  test('asks once more with less after an overflow, and remembers what fits', async () => {
    const script: Script = (call) =>
      messagesOf(call).length > 5 ? { fail: 'overflow' } : { answer: 'short enough' };
    await using fake = await kind.start(script);
    await using bench = new Bench();
    const model = bench.build(kind, fake.url);
    const lines = Array.from({ length: 9 }, (_, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      text: `line ${index}`,
    }));
    for (const tries of [['context_overflow', null], [null]]) {
      const outcome = await model.ask(requestOf({ lines }), neverStopped);
      assert.ok(outcome.kind === 'answer');
      assert.equal(outcome.linesDropped, 4);
      assert.deepEqual(
        outcome.tries.map((one) => one.failed),
        tries,
      );
    }
    assert.equal(messagesOf(fake.calls[2]!)[0]!.content, 'line 4');
  });
}

function testEndings(kind: ModelKind): void {
  test('when it is cancelled, closes the connection', async () => {
    await using fake = await kind.start({ fail: 'hang' });
    await using bench = new Bench();
    const ending = new PlainStop();
    const asking = bench.build(kind, fake.url).ask(requestOf(), ending);
    const call = await fake.call(0);
    ending.stop();
    assert.equal(failedKind(await asking), 'cancelled');
    assert.equal(await call.over, 'gone');
  });

  test('when it is cancelled before, opens no connection', async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const outcome = await bench.build(kind, fake.url).ask(requestOf(), stopOf(AbortSignal.abort()));
    assert.equal(failedKind(outcome), 'cancelled');
    assert.equal(fake.connections, 0);
  });

  test("when the turn's time is over first, says so", async () => {
    await using fake = await kind.start({ fail: 'drip' });
    await using bench = new Bench();
    const request = requestOf({ deadlineAt: bench.clock.in(50) });
    const asking = bench.build(kind, fake.url).ask(request, neverStopped);
    const call = await fake.call(0);
    bench.clock.pass(50);
    assert.equal(failedKind(await asking), 'deadline');
    assert.equal(await call.over, 'gone');
  });

  test('checks that the provider is there and has the model', async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const deadlineAt = bench.clock.in(5_000);
    const model = bench.build(kind, fake.url);
    const expected = { kind: 'reached', hasModel: true, runs: 'here', others: [] };
    assert.deepEqual(await model.check('private', deadlineAt), expected);
    const other = bench.build({ ...kind, modelId: 'another' }, fake.url);
    const runs = kind.provider === 'local_runtime' ? 'unknown' : 'here';
    const lacked = await other.check('private', deadlineAt);
    assert.ok(lacked.kind === 'reached');
    assert.deepEqual({ ...lacked, others: [] }, { ...expected, hasModel: false, runs });
    assert.ok(lacked.others.some((name) => name.replace(/:latest$/, '') === kind.modelId));
    await fake.script({ fail: 'html' }, 'looks');
    assert.deepEqual(await model.check('private', deadlineAt), { ...expected, hasModel: null });
    await fake.script({ fail: '503' }, 'looks');
    assert.deepEqual(await model.check('private', deadlineAt), { ...expected, hasModel: null });
    await fake.script({ fail: '401' }, 'looks');
    const refused = await model.check('private', deadlineAt);
    assert.ok(refused.kind === 'failed' && refused.failure.kind === 'unauthorized');
    await fake.script({ fail: 'refused' }, 'looks');
    await using later = new Bench();
    const gone = await later.build(kind, fake.url).check('public', later.clock.in(5_000));
    assert.ok(gone.kind === 'failed' && gone.failure.kind === 'connect_failed');
    assert.equal(fake.calls.length, 0, 'no question was asked');
    assert.ok(fake.looks.every((look) => look.text === ''));
  });
}

function testLocks(kind: ModelKind): void {
  test('declared cloud, refuses a private request without a connection', async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const model = bench.build(kind, fake.url, { locality: 'cloud' });
    const outcome = await model.ask(requestOf({ sensitivity: 'private' }), neverStopped);
    assert.equal(failedKind(outcome), 'private_refused');
    assert.equal(fake.connections, 0);
  });

  test('declared local, refuses a private request where its address is not near', async () => {
    await using bench = new Bench();
    const model = bench.build(kind, 'http://192.0.2.1:9');
    const outcome = await model.ask(requestOf({ sensitivity: 'private' }), neverStopped);
    assert.equal(failedKind(outcome), 'far_address');
    const found = await model.check('private', bench.clock.in(5_000));
    assert.ok(found.kind === 'failed' && found.failure.kind === 'far_address');
  });

  test('declared local, answers a private request', async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const request = requestOf({ sensitivity: 'private' });
    const outcome = await bench.build(kind, fake.url).ask(request, neverStopped);
    assert.equal(outcome.kind, 'answer');
  });
}

/** What API clients ask beside their lines. */
function testClients(kind: ModelKind): void {
  const isLocal = kind.provider === 'local_runtime';
  const tools = ['one', 'two'].map((name) => {
    return { name, description: 'It.', parameters: { type: 'object' } };
  });
  const called = { name: 'two', arguments: { text: 'ä' }, id: 'mine-1' };

  test('passes a forced call on, or offers only that tool where no field forces it', async () => {
    await using fake = await kind.start({ answer: '', calls: [called] });
    await using bench = new Bench();
    const model = bench.build(kind, fake.url);
    for (const toolChoice of ['required', { name: 'two' }] as const) {
      const outcome = await model.ask(requestOf({ tools, toolChoice }), neverStopped);
      assert.ok(outcome.kind === 'answer');
      assert.deepEqual(
        outcome.calls.map(({ name }) => name),
        ['two'],
      );
    }
    const forced = { type: 'function', function: { name: 'two' } };
    assert.deepEqual(
      fake.calls.map((one) => [toolsIn(one), (one.body as { tool_choice?: unknown }).tool_choice]),
      isLocal
        ? [
            [['one', 'two'], undefined],
            [['two'], undefined],
          ]
        : [
            [['one', 'two'], 'required'],
            [['one', 'two'], forced],
          ],
    );
  });

  test('lowers the limit of an answer, and never raises it', async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const reserved: number[] = [];
    for (const [configured, asked] of [
      [null, 30],
      [50, 30],
      [50, 70],
    ] as const) {
      const budgetGuard = new FakeBudgetGuard();
      const model = bench.build(kind, fake.url, { outputTokensMax: configured });
      await model.ask(requestOf({ outputTokensMax: asked, budgetGuard }), neverStopped);
      reserved.push(budgetGuard.calls[0]!.most.output);
    }
    const limits = fake.calls.map(({ body }) => {
      const fields = body as { max_tokens?: number; options?: { num_predict: number } };
      return isLocal ? fields.options?.num_predict : fields.max_tokens;
    });
    assert.deepEqual(limits, [30, 30, 50]);
    assert.deepEqual(reserved, [30, 30, 50]);
  });

  test("reads a conversation with a client's own ids", async () => {
    await using fake = await kind.start();
    await using bench = new Bench();
    const lines = [
      { role: 'user', text: 'a' },
      { role: 'calls', text: 'so', calls: [called] },
      { role: 'result', call: called, text: 'b' },
    ] as const;
    const request = requestOf({ lines, tools, keptFrom: 0 });
    const outcome = await bench.build(kind, fake.url).ask(request, neverStopped);
    assert.equal(outcome.kind, 'answer');
    const [, asked, result] = messagesOf(fake.calls[0]!) as readonly object[];
    const ofCall = { name: 'two', arguments: isLocal ? { text: 'ä' } : '{"text":"ä"}' };
    assert.deepEqual(asked, {
      role: 'assistant',
      content: 'so',
      tool_calls: [
        isLocal ? { function: ofCall } : { id: 'mine-1', type: 'function', function: ofCall },
      ],
    });
    const of = isLocal ? { tool_name: 'two' } : { tool_call_id: 'mine-1' };
    assert.deepEqual(result, { role: 'tool', content: 'b', ...of });
  });
}

function toolsIn({ body }: ModelCall): readonly string[] {
  const { tools = [] } = body as { tools?: readonly { function: { name: string } }[] };
  return tools.map((one) => one.function.name);
}

function messagesOf(call: ModelCall): readonly { role: string; content: string }[] {
  return (call.body as { messages: { role: string; content: string }[] }).messages;
}
