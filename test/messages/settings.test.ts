/** The optional keys of a file have their effect, seen from outside. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fromNow } from '../support/hand-clock.ts';
import type { Brain } from '../../src/brains/brain.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import type { Config } from '../../src/config/config.ts';
import { validateText } from '../../src/config/validate.ts';
import type { Message } from '../../src/domain/message.ts';
import { createBrain, createServiceDeps, type ServiceDeps } from '../../src/app/service.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { noteEvents } from '../fake/webhook.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { Stopper } from '../../src/lib/stop.ts';

const where = { port: 1, adminPort: 2, receiverUrl: 'http://127.0.0.1:9/' };

/** The config of one brain with these models, and more fields of it. */
function configOf(models: readonly object[], more: object = {}): Config {
  const document = webhookConfig({ ...where, modelUrl: 'http://127.0.0.1:9' });
  const [first] = document.brains[0]!['models'] as [object];
  const brain = { ...document.brains[0], models: models.map((one) => ({ ...first, ...one })) };
  const text = JSON.stringify({ ...document, brains: [{ ...brain, ...more }] });
  const validation = validateText(text);
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  return validation.config;
}

class Stage implements AsyncDisposable {
  readonly #deps: ServiceDeps;

  constructor() {
    this.#deps = { ...createServiceDeps(noteEvents().events, '0'), random: () => 0 };
  }

  /** The number of calls that wait for another one to end. */
  get waiting(): number {
    return this.#deps.bounds.loads.get('local_runtime')?.waiting ?? 0;
  }

  brainOf(models: readonly object[], more: object = {}): Brain {
    return createBrain(configOf(models, more).brains[0]!, new Map(), this.#deps);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#deps.http.close();
  }
}

async function ask(brain: Brain): Promise<string> {
  const said = { channel: 'webhook', text: 'two plus two?', media: null, sensitivity: 'public' };
  const message = said as unknown as Message;
  const decision = await brain.think(
    { message, text: message.text, history: [] },
    new DryRunContext(new Stopper(), fromNow(brain.deadlineMs), new FakeBudgetGuard()),
  );
  return decision.kind === 'reply' ? decision.text : decision.apology;
}

test('max_retries says how often a model is asked again', async () => {
  for (const [retries, asked] of [
    [0, 1],
    [1, 2],
    [undefined, 3],
  ] as const) {
    await using stage = new Stage();
    await using model = await startFakeOllama({ fail: '503' });
    const brain = stage.brainOf([{ base_url: model.url, max_retries: retries }]);
    assert.equal(await ask(brain), 'busy');
    assert.equal(model.calls.length, asked, String(retries));
  }
});

test('system_prompt comes first, with an agent before its own words', async () => {
  await using stage = new Stage();
  await using model = await startFakeOllama({ answer: 'four' });
  const models = [{ base_url: model.url }];
  const told = async (more: object): Promise<readonly { role: string; content: string }[]> => {
    assert.equal(await ask(stage.brainOf(models, more)), 'four');
    return (model.calls.at(-1)!.body as { messages: { role: string; content: string }[] }).messages;
  };
  const question = { role: 'user', content: 'two plus two?' };
  const system_prompt = 'You are Captain Kit, an old sailor.';
  assert.deepEqual(await told({ system_prompt }), [
    { role: 'system', content: system_prompt },
    question,
  ]);
  for (const nothing of [{}, { system_prompt: '' }, { system_prompt: null }]) {
    assert.deepEqual(await told(nothing), [question], 'none is invented');
  }
  const agent = { tools: ['calc'], system_prompt: 'Be brief.' };
  const [system] = await told({ system_prompt, agent });
  assert.match(
    system!.content,
    /^You are Captain Kit, an old sailor\.\n\nYou answer a person, [^]*\n\nBe brief\.$/,
  );
});

test('policy.order says whose answer is taken', async () => {
  await using stage = new Stage();
  await using first = await startFakeOllama({ answer: 'first' });
  await using second = await startFakeOllama({ answer: 'second' });
  const models = [
    { model_id: 'a', base_url: first.url },
    { model_id: 'b', base_url: second.url },
  ];
  const orders = [
    [['b'], 'second'],
    [['a'], 'first'],
    [['ollama/b', 'a'], 'second'],
    [['local_runtime'], 'first'],
  ] as const;
  for (const [order, winner] of orders) {
    const brain = stage.brainOf(models, { policy: { kind: 'priority', order } });
    assert.equal(await ask(brain), winner);
  }
});

test('timeout_seconds and deadline_seconds end what hangs', async () => {
  await using stage = new Stage();
  await using model = await startFakeOllama({ fail: 'hang' });
  const base_url = model.url;
  const [short, whole] = await Promise.all([
    ask(stage.brainOf([{ base_url, timeout_seconds: 1 }])),
    ask(stage.brainOf([{ base_url }], { deadline_seconds: 1 })),
  ]);
  assert.deepEqual([short, whole], ['busy', 'busy']);
});

test('max_in_flight holds further calls back', async () => {
  await using stage = new Stage();
  let inFlight = 0;
  let most = 0;
  let left = 3;
  const isAlone = (): boolean => most === 1;
  // Until the others wait behind it, or have come although they may not.
  const held = async (behind: number): Promise<void> => {
    while (isAlone() && stage.waiting < behind) await turn();
    inFlight--;
  };
  await using model = await startFakeOllama(() => {
    most = Math.max(most, ++inFlight);
    return { answer: '4', after: held(--left) };
  });
  const brain = stage.brainOf([{ base_url: model.url, max_in_flight: 1 }]);
  assert.deepEqual(await Promise.all([ask(brain), ask(brain), ask(brain)]), ['4', '4', '4']);
  assert.deepEqual([model.calls.length, most], [3, 1]);
});

/** The status of `/api/v1/status` under this Host header. */
function statusAs(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const path = '/api/v1/status';
    request({ port, host: '127.0.0.1', path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });
}

test('allowed_hosts and deadline_seconds reach the running program', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ fail: 'hang' });
  await using receiver = await startReceiver();
  const port = await freePort();
  const adminPort = await freePort();
  const config = webhookConfig({
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: receiver.url,
  });
  const file = await writeConfig(folder.path, {
    ...config,
    brains: [{ ...config.brains[0], deadline_seconds: 1 }],
    observability: { addr: `127.0.0.1:${adminPort}`, allowed_hosts: ['svc.test'] },
  });
  await using program = await serveHere(file, port);
  await post(program.url, { sender_id: 'ada', text: 'hello' });
  assert.equal(await statusAs('svc.test:443', adminPort), 200);
  assert.equal(await statusAs('evil.test', adminPort), 421);
  const [reply] = await receiver.waitFor(1);
  assert.match(String(reply!.body['text']), /^I am busy/);
});
