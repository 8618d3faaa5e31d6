/** The page of a model that does not answer: its advice, its buttons, and their effect. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { browserTest, pressOn, type Site, type Stage } from './browser.ts';
import { operatorToken } from './live-stage.ts';
import { signIn } from './operator-stage.ts';

type ModelSite = Site & {
  readonly runtime: FakeModel;
  /** The models of the runtime. */
  readonly models: string[];
  /** The configuration file. */
  readonly file: string;
};

/** svc with a stopped runtime. @param modelId the model that its brain asks */
async function startWith(modelId: string): Promise<ModelSite> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const models = ['qwen3:4b', 'gemma3'];
  const runtime = stack.use(await startFakeOllama({ answer: 'Hello from here.' }, { models }));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: runtime.url, receiverUrl: receiver.url };
  const base = webhookConfig(at);
  const model = { provider: 'local_runtime', model_id: modelId, base_url: runtime.url };
  const brains = [{ ...base.brains[0], models: [{ ...model, locality: 'local' }] }];
  const document = { ...base, brains, admin: { token_env: 'ADMIN_TOKEN' } };
  const file = await writeConfig(folder.path, document);
  await runtime.script({ fail: 'refused' });
  stack.use(await serve(file, port, { ADMIN_TOKEN: operatorToken }));
  const open = stack.move();
  const origin = `http://127.0.0.1:${adminPort}`;
  const end = { [Symbol.asyncDispose]: () => open.disposeAsync() };
  return { origin, runtime, models, file, ...end };
}

const start = () => startWith('llama3.2');

/** The page polls, and may do so just after the model has left the configuration. */
const lookTooLate = /404 \(Not Found\).*\/models\/look/;

browserTest('a dead model is told, mended step by step, and seen', start, async (stage) => {
  const { runtime, models } = stage.site;
  const view = await stage.open({ viewport: { width: 1_100, height: 800 } });
  const { page } = view;
  await page.goto('/ui');
  await page.getByText('Not working: no model answers for brain echo').waitFor();
  await signIn(page);
  const urgent = page.getByRole('listitem').filter({ hasText: 'No model answers for the brain' });
  await urgent.getByRole('link', { name: 'Look' }).press('Enter');
  await page.getByText('Ollama does not answer.').waitFor();
  await page.getByText('ollama serve').waitFor();
  await view.assertAccessible();
  await view.picture('model away');
  // Stands for a person who starts it.
  await runtime.script({ answer: 'Hello from here.' });
  await page.getByText('Ollama runs, but does not have this model.').waitFor();
  await page.getByText('ollama pull llama3.2').waitFor();
  await page.getByRole('button', { name: 'Use qwen3:4b …' }).waitFor();
  const change = page.getByRole('link', { name: 'another model, in the builder' });
  const there = new URL((await change.getAttribute('href')) ?? '', stage.site.origin);
  assert.equal(there.searchParams.get('at'), 'brains[0].models[0].model_id');
  await view.assertAccessible();
  await view.picture('model lacking');
  // Stands for a person who pulls the model.
  models.push('llama3.2');
  await page.getByText('It is there', { exact: true }).waitFor();
  await pressOn(page, 'Ask it now');
  await page.getByText('Hello from here.').waitFor();
  await page.getByText('It answers', { exact: true }).waitFor();
  await view.assertAccessible();
  await view.picture('model answering');
});

browserTest('another model takes its place by one press', start, async (stage) => {
  const view = await stage.open({ viewport: { width: 360, height: 700 } });
  const { page } = view;
  await stage.site.runtime.script({ answer: 'Hello from here.' });
  await page.goto('/ui?view=model&id=local_runtime%2Fllama3.2');
  await page.getByText('Only an operator may ask it.').waitFor();
  await signIn(page);
  await pressOn(page, 'Use qwen3:4b …');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('This is all that changes.').waitFor();
  await view.assertAccessible('[role=dialog]');
  await view.assertFits();
  await view.picture('model other');
  view.allowFault(lookTooLate);
  await pressOn(dialog, 'Use it');
  await dialog.getByText('qwen3:4b is asked from now on.').waitFor();
  await view.assertAccessible('[role=dialog]');
  await dialog.getByRole('button', { name: 'Close' }).last().press('Enter');
  await page.getByRole('heading', { name: 'qwen3:4b (Ollama)' }).waitFor();
  await page.getByText('It is there', { exact: true }).waitFor();
  await view.assertFits();
  const text = await readFile(stage.site.file, 'utf8');
  assert.match(text, /"model_id": "qwen3:4b"/);
});

const startPractice = () => startWith('practice');

browserTest(
  'the practice model of a first run has a real one take its place',
  startPractice,
  ended,
);

async function ended(stage: Stage<ModelSite>): Promise<void> {
  const view = await stage.open({ viewport: { width: 360, height: 700 } });
  const { page } = view;
  await page.goto('/ui');
  await page.getByText('The practice model has ended.').first().waitFor();
  await signIn(page);
  const urgent = page.getByRole('listitem').filter({ hasText: 'No model answers for the brain' });
  await urgent.getByRole('link', { name: 'Look' }).press('Enter');
  await page.getByText(/It was the practice model/).waitFor();
  assert.equal(await page.getByText('ollama serve').count(), 0);
  await view.assertAccessible();
  await view.assertFits();
  await view.picture('model practice');
  await pressOn(page, 'Use llama3.2 …');
  view.allowFault(lookTooLate);
  await pressOn(page.getByRole('dialog'), 'Use it');
  await page.getByText('llama3.2 is asked from now on.').waitFor();
  const text = await readFile(stage.site.file, 'utf8');
  assert.match(text, /"base_url": ?"http:\/\/127\.0\.0\.1:11434"/);
  // Errors of the replaced model are not errors of this one.
  await page.goto('/ui');
  await page
    .getByText(/llama3\.2 \(Ollama\)/)
    .first()
    .waitFor();
  assert.equal(await page.getByText('The practice model has ended.').count(), 0);
}
