/**
 * A running svc for the actions of an operator. It has an agent behind a webhook and on Telegram, a
 * stranger with a pairing code, storage, and a bearer.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { asks, lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { startFakeTelegram, type FakeTelegram } from '../fake/telegram.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import type { Site } from './browser.ts';

export const operatorToken = 'the-token-of-the-operator';

export type OperatorStage = Site & {
  readonly model: FakeModel;
  readonly receiver: Receiver;
  readonly telegram: FakeTelegram;
  /** Sends a message to the webhook. @param text the tool to call: `calc`, `echo` or `time` */
  readonly say: (text: string, conversation?: string) => Promise<void>;
  /** Acts as another operator. */
  readonly discardNewest: () => Promise<void>;
  /** Applies a change of the configuration's text. */
  readonly change: (from: string, to: string) => Promise<void>;
};

const given: Readonly<Record<string, unknown>> = {
  calc: { expression: '6 * 7' },
  echo: { text: 'once more' },
  time: {},
};

const obliging: Script = (call) => {
  const { role, content } = lastOf(call);
  if (role !== 'user') return { answer: 'So it is done.' };
  const tool = Object.keys(given).find((name) => content === name);
  return tool === undefined ? { answer: 'It opens at nine.' } : asks(tool, given[tool]);
};

export async function startOperatorStage(): Promise<OperatorStage> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const model = opened.use(await startFakeOllama(obliging));
  const receiver = opened.use(await startReceiver());
  const telegram = opened.use(await startFakeTelegram({ secondMs: 20 }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = documentOf(at, telegram);
  const env = { ADMIN_TOKEN: operatorToken, TELEGRAM_TOKEN: telegram.token };
  const program = opened.use(await serve(await writeConfig(folder.path, document), port, env));
  const origin = `http://127.0.0.1:${adminPort}`;
  const stack = opened.move();
  return {
    origin,
    model,
    receiver,
    telegram,
    async say(text, conversation = 'lobby') {
      const said = { sender_id: 'ada', conversation_id: conversation, text };
      const { status } = await post(program.url, said);
      if (status !== 200) throw new Error(`the webhook answered ${status}`);
    },
    discardNewest: () => discardNewest(`${origin}/api/v1/dead-letters`),
    change: (from, to) => change(`${origin}/api/v1/config`, from, to),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const headers = { authorization: `Bearer ${operatorToken}` };

async function discardNewest(url: string): Promise<void> {
  const { rows } = (await (await fetch(url)).json()) as { rows: readonly { id: string }[] };
  const { status } = await fetch(`${url}/${rows[0]!.id}/discard`, { method: 'POST', headers });
  assert.equal(status, 200);
}

async function change(url: string, from: string, to: string): Promise<void> {
  const now = await fetch(url, { headers });
  const { text, revision } = (await now.json()) as { text: string; revision: string };
  assert.ok(text.includes(from));
  const more = { 'content-type': 'application/json', 'if-match': `"${revision}"` };
  const body = text.replace(from, to);
  const applied = await fetch(url, { method: 'PUT', headers: { ...headers, ...more }, body });
  assert.equal(applied.status, 200, await applied.text());
}

function documentOf(at: Parameters<typeof webhookConfig>[0], telegram: FakeTelegram) {
  const config = webhookConfig(at);
  const governance = [
    { tool: 'calc', mode: 'allow' },
    { tool: 'echo', mode: 'shadow' },
    { tool: 'time', mode: 'deny' },
  ];
  const agent = { tools: ['calc', 'echo', 'time'], governance };
  const messenger = {
    type: 'messenger_a',
    mode: 'polling',
    token_env: 'TELEGRAM_TOKEN',
    base_url: telegram.url,
    access: { allow: [], pairing: true },
  };
  return {
    ...config,
    channels: [...config.channels, messenger],
    brains: [{ ...config.brains[0], agent }],
    routes: [...config.routes, { channel: 'messenger_a', brain: 'echo' }],
    storage: { path: 'svc.db' },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
}

/** Signs in by the button of the page's header. */
export async function signIn(page: Page): Promise<void> {
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Administrator token').fill(operatorToken);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('banner').getByRole('button', { name: 'Sign out' }).waitFor();
  // The dialog returns the focus some frames after it closed, when it disappears.
  await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
}

/** Presses Tab until the focus is on the button of this name, once it exists. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  await page.getByRole('button', { name }).first().waitFor();
  const seen: string[] = [];
  while (seen.length < 80) {
    await page.keyboard.press('Tab');
    const focused = `{
      const { activeElement: on } = document;
      (on.getAttribute('aria-label') ?? on.textContent).trim();
    }`;
    const called = await page.evaluate<string>(focused);
    if (name.test(called)) return;
    seen.push(called);
  }
  throw new Error(`Tab leads to ${seen.join(', ')}`);
}
