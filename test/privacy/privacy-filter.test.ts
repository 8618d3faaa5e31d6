/** The two locks of a private brain, together and each alone: no connection to a cloud at all. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../support/hand-clock.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { dispatch } from '../../src/brains/dispatch.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import { createResponder } from '../../src/brains/responder.ts';
import type { ModelConfig } from '../../src/config/config.ts';
import type { Message } from '../../src/domain/message.ts';
import type { TraceStep } from '../../src/domain/trace.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { buildModel, CallBounds } from '../../src/brains/models/build-model.ts';
import { PromptRecords } from '../../src/brains/models/prompt-records.ts';
import { RelayDetections } from '../../src/brains/models/relay-detection.ts';
import type { Model } from '../../src/brains/models/model.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';

const deadlines = createDeadlines();
const http = createHttpClient(deadlines);
const ignore = (): void => {};
const events = { modelAsked() {}, modelAnswered: ignore, faulted: ignore };
const common = {
  dispatch: 'fanout',
  policy: createPriority(),
  deadlines,
  ...systemClock,
  retryDelayMs: () => null,
  onFault: (error: unknown) => assert.fail(String(error)),
} as const;

function modelAt(url: string, locality: 'local' | 'cloud'): Model {
  const config: ModelConfig = {
    provider: locality === 'local' ? 'local_runtime' : 'hosted_runtime',
    modelId: locality === 'local' ? 'llama3' : 'gpt-test',
    locality,
    baseUrl: url,
    apiKeyEnv: null,
    timeoutMs: 60_000,
    retriesMax: 2,
    inFlightMax: 10,
    outputTokensMax: null,
    contextTokens: null,
    price: null,
    vision: null,
  };
  return buildModel(config, 'key-of-nobody', {
    http,
    deadlines,
    ...systemClock,
    events,
    relayDetections: new RelayDetections(),
    bounds: new CallBounds(),
    prompts: new PromptRecords(),
  });
}

function turnContext() {
  return new DryRunContext(new Stopper(), fromNow(60_000), new FakeBudgetGuard());
}

async function ask(
  models: readonly Model[],
  sensitivity: 'public' | 'private',
  steps?: TraceStep[],
) {
  const members = models.map((model, rank) => ({ model, rank, retriesMax: 2 }));
  const brain = createResponder({
    name: 'helper',
    sensitivity,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    systemPrompt: null,
    deadlineMs: 60_000,
    members,
    ...common,
  });
  const message = { text: 'my secret', media: null, sensitivity: 'public' } as Message;
  const own = turnContext();
  const decision = await brain.think({ message, text: message.text, history: [] }, own);
  steps?.push(...own.steps);
  return decision;
}

test('a public brain asks the cloud: the way that the locks below must close is open', async () => {
  await using cloud = await startFakeOpenai({ answer: 'from the cloud' });
  const decision = await ask([modelAt(cloud.url, 'cloud')], 'public');
  assert.equal(decision.kind === 'reply' && decision.text, 'from the cloud');
  assert.equal(cloud.connections, 1);
});

test('a private brain answers from here and makes no connection to the cloud', async () => {
  await using cloud = await startFakeOpenai({ answer: 'from the cloud' });
  await using local = await startFakeOllama({ answer: 'from here' });
  const steps: TraceStep[] = [];
  const models = [modelAt(cloud.url, 'cloud'), modelAt(local.url, 'local')];
  const decision = await ask(models, 'private', steps);
  assert.equal(decision.kind === 'reply' && decision.text, 'from here');
  assert.equal(cloud.connections, 0);
  assert.deepEqual(steps[0], { kind: 'shield', dropped: ['hosted_runtime/gpt-test'], kept: 1 });
});

test('when the local model fails, a private brain still does not turn to the cloud', async () => {
  await using cloud = await startFakeOpenai({ answer: 'from the cloud' });
  await using local = await startFakeOllama({ fail: '404' });
  const decision = await ask([modelAt(cloud.url, 'cloud'), modelAt(local.url, 'local')], 'private');
  assert.equal(decision.kind === 'apology' && decision.apology, 'no_answer');
  assert.equal(cloud.connections, 0);
});

test('the first lock suffices: the filter holds though the model would not refuse', async () => {
  await using cloud = await startFakeOpenai({ answer: 'from the cloud' });
  const compliant = modelAt(cloud.url, 'local');
  const unlocked: Model = {
    name: compliant.name,
    provider: compliant.provider,
    modelId: compliant.modelId,
    locality: 'cloud',
    mayForward: compliant.mayForward,
    ask: (request, signal) => compliant.ask(request, signal),
    sees: (sensitivity, deadlineAt) => compliant.sees(sensitivity, deadlineAt),
    check: (sensitivity, deadlineAt) => compliant.check(sensitivity, deadlineAt),
  };
  const decision = await ask([unlocked], 'private');
  assert.equal(decision.kind, 'apology');
  assert.equal(cloud.connections, 0);
});

test('the second lock suffices: the model refuses though no filter dropped it', async () => {
  await using cloud = await startFakeOpenai({ answer: 'from the cloud' });
  const members = [{ model: modelAt(cloud.url, 'cloud'), rank: 0, retriesMax: 2 }];
  const request = {
    sensitivity: 'private',
    system: null,
    lines: [{ role: 'user', text: 'my secret' }],
    budgetGuard: new FakeBudgetGuard(),
    keptFrom: 0,
    tools: [],
    deadlineAt: fromNow(60_000),
  } as const;
  const { verdict, calls } = await dispatch(members, () => request, turnContext(), common);
  assert.equal(verdict.kind, 'none');
  const [call] = calls;
  assert.ok(call?.outcome?.kind === 'failed');
  assert.equal(call.outcome.failure.kind, 'private_refused');
  assert.equal(cloud.connections, 0);
});
