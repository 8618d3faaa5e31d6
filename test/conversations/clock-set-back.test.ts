/** The time of day is set back by an hour while work waits: none of it waits longer. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Brain } from '../../src/brains/brain.ts';
import type { Decision } from '../../src/domain/decision.ts';
import type { Message } from '../../src/domain/message.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import { validateText } from '../../src/config/validate.ts';
import { later } from '../../src/lib/clock.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { createBrain, createServiceDeps, type ServiceDeps } from '../../src/app/service.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { noteEvents } from '../fake/webhook.ts';
import { webhookConfig } from '../support/program.ts';
import { within } from '../support/waiting.ts';

/** The time of day stands still at first; the other clock and all timers run on. */
function dayOf(t: TestContext): { setBack(): void } {
  const now = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now });
  return { setBack: () => t.mock.timers.setTime(now - 3_600_000) };
}

function brainOf(deps: ServiceDeps, modelUrl: string, more: object): Brain {
  const where = { port: 1, adminPort: 2, receiverUrl: 'http://127.0.0.1:9/', modelUrl };
  const document = webhookConfig(where);
  const [brain] = document.brains;
  const [model] = brain!['models'] as [object];
  const brains = [{ ...brain, sensitivity: 'public', models: [{ ...model, ...more }] }];
  const validation = validateText(JSON.stringify({ ...document, brains }));
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  return createBrain(validation.config.brains[0]!, new Map(), deps);
}

function think(brain: Brain, deps: ServiceDeps, turnMs: number): Promise<Decision> {
  const message = { text: 'two plus two?', media: null, sensitivity: 'public' } as Message;
  const turnContext = new DryRunContext(
    new Stopper(),
    later(deps.steady(), turnMs),
    new FakeBudgetGuard(),
  );
  return brain.think({ message, text: message.text, history: [] }, turnContext);
}

test('a model that hangs loses its turn', async (t) => {
  const day = dayOf(t);
  await using model = await startFakeOllama({ fail: 'hang' });
  const deps = createServiceDeps(noteEvents().events, '0');
  const thinking = think(brainOf(deps, model.url, { max_retries: 0 }), deps, 200);
  await model.call(0);
  day.setBack();
  const decision = await within('its end, an hour early', thinking);
  assert.ok(decision.kind === 'apology' && decision.apology === 'busy');
  await deps.http.close();
});

test('a model is asked again after its pause', async (t) => {
  const day = dayOf(t);
  await using model = await startFakeOllama({ fail: '503' });
  const deps = { ...createServiceDeps(noteEvents().events, '0'), random: () => 0.5 };
  const thinking = think(brainOf(deps, model.url, { max_retries: 1 }), deps, 60_000);
  await model.call(0);
  day.setBack();
  assert.equal((await within('its end, an hour early', thinking)).kind, 'apology');
  assert.equal(model.calls.length, 2);
  await deps.http.close();
});

test('a request whose answer hangs comes to its end', async (t) => {
  const day = dayOf(t);
  await using receiver = await startReceiver();
  receiver.script.push('hang');
  const deps = createServiceDeps(noteEvents().events, '0');
  const sending = deps.http.send({
    method: 'POST',
    url: new URL(receiver.url),
    headers: {},
    body: '{}',
    deadlineAt: later(deps.steady(), 200),
    bodyBytesMax: 100,
  });
  await receiver.waitFor(1);
  day.setBack();
  const result = await within('its end, an hour early', sending);
  assert.ok(result.kind === 'fault' && result.fault === 'timeout');
  await deps.http.close();
});
