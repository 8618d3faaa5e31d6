/** The running program, and an administrator's questions about drafts of configurations. */
import assert from 'node:assert/strict';
import type { TryResult } from '../../src/admin/config-trials.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { assertDescribed, operationsOf, type OpenApi } from '../admin/open-api.ts';
import { freePort, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';

export const token = 'an-administrator-token-of-the-tests';
export const key = 'sk-the-key-of-a-hosted-model';
/** In words, so that a model that streams writes it in several pieces. */
export const unused = 'a canary that nothing names';
const env = { ADMIN_TOKEN: token, API_KEY: key, UNUSED_CANARY: unused };
export const values = [token, key, unused, secret];

export type Document = ReturnType<typeof webhookConfig>;
type Asked = { readonly status: number; readonly body: string };

/** The program with an administrator, and the models of a test's drafts. */
export async function start() {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const local = stack.use(await startFakeOllama({ answer: 'from here' }));
  const hosted = stack.use(await startFakeOpenai({ answer: 'from afar' }));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: local.url, receiverUrl: receiver.url };
  const used: Document = {
    ...webhookConfig(where),
    admin: { token_env: 'ADMIN_TOKEN' },
    storage: { path: 'svc.db' },
  };
  const program = stack.use(await serveHere(await writeConfig(folder.path, used), port, env));
  const origin = `http://127.0.0.1:${adminPort}`;
  const api = (await (await fetch(`${origin}/api/v1/openapi.json`)).json()) as OpenApi;
  const send = async (method: string, path: string, body?: string, signal?: AbortSignal) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    };
    const answer = await fetch(`${origin}/api/v1/${path}`, init);
    const text = await answer.text();
    const operation = operationsOf(api).find((one) => {
      const named = one.path.replace('/secrets/{name}', path.replace(/^(?=secrets\/)/, '/'));
      return named === `/api/v1/${path}` && one.method === method;
    });
    assertDescribed(api, operation!, {
      status: answer.status,
      headers: answer.headers,
      body: text,
    });
    for (const value of values) assert.ok(!text.includes(value), `${path} tells ${value}`);
    return { status: answer.status, body: text } satisfies Asked;
  };
  return {
    folder: folder.path,
    local,
    hosted,
    receiver,
    program,
    used,
    origin,
    api,
    send,
    /** A draft that differs from the current configuration in its one brain. */
    draft: (brain: object): Document => ({ ...used, brains: [{ ...used.brains[0], ...brain }] }),
    tryIt: async (config: Document, more: object = {}, signal?: AbortSignal) => {
      const asked = { config: JSON.stringify(config), brain: 'echo', text: 'Where?', ...more };
      return send('POST', 'config/try', JSON.stringify(asked), signal);
    },
    metrics: async () => (await fetch(`${origin}/metrics`)).text(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export type Started = Awaited<ReturnType<typeof start>>;

export const localModel = ({ local }: Started) => ({
  provider: 'local_runtime',
  model_id: 'llama3',
  locality: 'local',
  base_url: local.url,
});
export const hostedModel = ({ hosted }: Started, more: object = {}) => ({
  provider: 'hosted_runtime',
  model_id: 'big',
  locality: 'cloud',
  base_url: hosted.url,
  api_key_env: 'API_KEY',
  ...more,
});

export function parsed({ status, body }: Asked): unknown {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

export const resultOf = (asked: Asked): TryResult => parsed(asked) as TryResult;
