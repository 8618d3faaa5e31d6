/** A running svc for the live view: a private brain that votes, storage, sessions, an operator. */
import type { Page } from 'playwright-core';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import type { Script } from '../fake/model-server.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import type { Site } from './browser.ts';

export const operatorToken = 'the-token-of-the-operator';

export type LiveStage = Site & {
  /** Its configuration file. */
  readonly file: string;
  readonly receiver: Receiver;
  /** Sends a message and returns its id. */
  say(text: string, conversation?: string): Promise<string>;
  /** Ends the service and starts it again on the same storage. */
  stop(): Promise<void>;
  start(token?: string): Promise<void>;
};

/** Two models agree, and the third answers differently, once `after` resolves. */
export function agree(after = Promise.resolve()): Script {
  return ({ body }) => {
    const { model } = body as { model: string };
    return { answer: model === 'c' ? 'Perhaps.' : 'It opens at nine.', after };
  };
}

/** @param more of the configuration, and variables that it names */
export async function startLiveStage(
  script = agree(),
  more: { readonly settings?: object; readonly env?: Record<string, string> } = {},
): Promise<LiveStage> {
  const folder = await scratch();
  const model = await startFakeOllama(script);
  const receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const local = { provider: 'local_runtime', locality: 'local', base_url: model.url };
  const cloud = { provider: 'hosted_runtime', locality: 'cloud', api_key_env: 'HOSTED_KEY' };
  const turnContext = {
    name: 'desk',
    sensitivity: 'private',
    policy: { kind: 'consensus' },
    models: [
      ...['a', 'b', 'c'].map((name) => ({ ...local, model_id: name })),
      { ...cloud, model_id: 'big' },
    ],
  };
  const file = await writeConfig(folder.path, {
    ...webhookConfig(at),
    brains: [turnContext],
    routes: [{ channel: 'webhook', brain: 'desk' }],
    storage: { path: 'svc.db' },
    session: {},
    admin: { token_env: 'ADMIN_TOKEN' },
    ...more.settings,
  });
  const env = { ADMIN_TOKEN: operatorToken, HOSTED_KEY: 'a-key-that-nobody-asks-for', ...more.env };
  let program = await serve(file, port, env);
  return {
    origin: `http://127.0.0.1:${adminPort}`,
    file,
    receiver,
    async say(text, conversation = 'lobby') {
      const said = { sender_id: 'ada', conversation_id: conversation, text };
      const { status, body } = await post(program.url, said);
      if (status !== 200) throw new Error(`the webhook answered ${status}`);
      return String(body['message_id']);
    },
    async stop() {
      program.child.kill('SIGTERM');
      await program.ended;
    },
    async start(token = operatorToken) {
      program = await serve(file, port, { ...env, ADMIN_TOKEN: token });
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Opens a view by the navigation: on a narrow screen its group, then the view. */
export async function goToView(page: Page, group: string, view: string): Promise<void> {
  const views = page.getByRole('navigation', { name: 'Views' });
  if ((page.viewportSize()?.width ?? 0) >= 1_280) {
    return views.getByRole('link', { name: new RegExp(`^${view}\\b`) }).click();
  }
  // The name has a suffix where something may need a person.
  await views.getByRole('link', { name: new RegExp(`^${group}\\b`) }).click();
  const inside = page.getByRole('navigation', { name: group });
  await inside.getByRole('link', { name: view, exact: true }).click();
}
