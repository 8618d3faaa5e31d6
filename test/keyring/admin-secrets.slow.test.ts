/** The admin API puts secrets into a real keyring: the service uses them, and never shows them. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'node:test';
import type { SecretList } from '../../src/admin/secret-control.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { startCommand } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { hasty, keyringTest, openSession, patient, type Session } from './session.ts';
import { until } from '../support/waiting.ts';

const token = 'an-administrator-token-of-the-tests';
const name = 'REPLY_SECRET';
const canaries = ['Canary-4711-that-somebody-typed', 'Canary-4712-that-came-in-its-place'] as const;

type Answer = { readonly status: number; readonly body: string };

/** A service of that session, and its administrator. */
async function start(session: Session, keychainLimits = patient) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const model = stack.use(await startFakeOllama({ answer: 'from here' }));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = { ...webhookConfig(where), admin: { token_env: 'ADMIN_TOKEN' } };
  const file = await writeConfig(folder.path, { ...document, storage: { path: 'svc.db' } });
  const env = { ...session.env, WEBHOOK_SECRET: secret, ADMIN_TOKEN: token };
  const told: string[] = [];
  const begin = async () => {
    const run = startCommand(['serve', '--config', file, '--log-level', 'debug'], {
      env,
      keychainLimits,
    });
    await run.until(/"listening"/, 'err');
    return run;
  };
  let run = await begin();
  stack.defer(() => run[Symbol.asyncDispose]());
  const api = async (method: string, path: string, body?: unknown, more = {}): Promise<Answer> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...more,
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const init = { method, headers, ...(body !== undefined && { body: text }) };
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, init);
    const answer = { status: response.status, body: await response.text() };
    told.push(answer.body);
    return answer;
  };
  const open = stack.move();
  return {
    folder: folder.path,
    receiver,
    api,
    say: () => post(`http://127.0.0.1:${port}/webhook`, { sender_id: 'ada', text: 'hello' }),
    list: async () => JSON.parse((await api('GET', '/api/v1/secrets')).body) as SecretList,
    async put(value: string): Promise<void> {
      const { status, body } = await api('PUT', `/api/v1/secrets/${name}`, { value });
      assert.equal(status, 204, body);
    },
    async restart(): Promise<void> {
      assert.equal(await run.stop(), 0);
      told.push(run.out() + run.err());
      run = await begin();
    },
    /** All output so far. */
    told: () => [...told, run.out() + run.err()].join('\n'),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

type Started = Awaited<ReturnType<typeof start>>;

async function rowOf({ list }: Started) {
  const { rows } = await list();
  const row = rows.find((one) => one.name === name);
  if (row === undefined) return null;
  const { source, inKeychain, restart } = row;
  return { source, inKeychain, restart };
}

/** Polls until the keychain has this state. */
async function untilStore({ list }: Started, state: string): Promise<void> {
  await until(`the keychain is ${state}`, async () => (await list()).store.state === state);
}

/** Applies a configuration that names the variable. */
async function nameIt({ api }: Started): Promise<Answer> {
  const used = JSON.parse((await api('GET', '/api/v1/config')).body) as {
    text: string;
    revision: string;
  };
  const document = JSON.parse(used.text) as { channels: { webhook: Record<string, string> }[] };
  document.channels[0]!.webhook['outbound_token_env'] = name;
  const match = { 'if-match': `"${used.revision}"` };
  return api('PUT', '/api/v1/config', JSON.stringify(document), match);
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map((one) => readFile(join(one.parentPath, one.name), 'latin1')));
}

suite('secrets by the admin API over gnome-keyring', () => {
  keyringTest('a value that was put is used, replaced, removed, and told nowhere', async () => {
    await using session = await openSession();
    await session.startKeyring('unlocked');
    await using started = await start(session);
    const { api, receiver, say } = started;
    const bearerOf = async (count: number) => {
      await say();
      const replies = await receiver.waitFor(count);
      return replies.at(-1)!.headers.authorization;
    };
    assert.equal((await nameIt(started)).status, 422, 'it is set nowhere yet');
    await started.put(canaries[0]);
    const kept = { source: 'keychain', inKeychain: true };
    assert.deepEqual(await rowOf(started), { ...kept, restart: false });
    const presence = await api('POST', '/api/v1/secrets/presence', { names: [name] });
    assert.deepEqual(JSON.parse(presence.body), { rows: [{ name, ...kept }] });
    const applied = await nameIt(started);
    assert.equal(applied.status, 200, applied.body);
    assert.equal(await bearerOf(1), `Bearer ${canaries[0]}`);
    assert.deepEqual(await rowOf(started), { ...kept, restart: false });

    await started.put(canaries[1]);
    assert.deepEqual(await rowOf(started), { ...kept, restart: true });
    assert.equal(await bearerOf(2), `Bearer ${canaries[0]}`, 'the value from before counts on');
    await started.restart();
    assert.equal(await bearerOf(3), `Bearer ${canaries[1]}`);
    assert.deepEqual(await rowOf(started), { ...kept, restart: false });

    const path = `/api/v1/secrets/${name}`;
    assert.equal((await api('DELETE', path)).status, 204);
    assert.deepEqual(await rowOf(started), { ...kept, inKeychain: false, restart: false });
    assert.equal((await api('DELETE', path)).status, 404);
    await api('GET', '/metrics');
    await api('GET', '/api/v1/audit');
    const files = [...(await filesBelow(started.folder)), ...(await filesBelow(session.home))];
    assert.ok(
      files.some((text) => text.includes(name)),
      'the list of names is among them',
    );
    const all = [started.told(), ...files].join('\n');
    for (const canary of canaries) assert.ok(!all.includes(canary), canary);
    assert.match(all, /"action":"secret_set","target":\{"name":"REPLY_SECRET","principal":/);
  });

  keyringTest('while the keyring hangs, its state is told, and messages are answered', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    const limits = { ...patient };
    await using started = await start(session, limits);
    await untilStore(started, 'ready');
    keyring.halt();
    // The keychain will not answer any more, so nobody needs to wait for it.
    Object.assign(limits, hasty);
    const putting = started.api('PUT', `/api/v1/secrets/${name}`, { value: canaries[0] });
    await started.say();
    await started.receiver.waitFor(1);
    const refused = await putting;
    assert.equal(refused.status, 503, refused.body);
    assert.match(refused.body, /"keychain_unavailable".*"state":"no_answer"/);
    await untilStore(started, 'no_answer');
    keyring.goOn();
    assert.ok(!started.told().includes(canaries[0]));
  });
});
