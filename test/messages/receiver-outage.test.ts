/** A receiver that breaks and recovers: svc's reports about it, each only once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../src/admin/admin.ts';
import { startConfigured } from '../config/program.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const token = 'an-administrator-token-of-the-tests';
const headers = { authorization: `Bearer ${token}` };
const many = 80;

test('its replies are counted while it is broken, and each arrives once when tried', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const more = { storage: { path: 'svc.db' }, admin: { token_env: 'ADMIN_TOKEN' } };
  const file = await writeConfig(folder.path, { ...webhookConfig(at), ...more });
  await using program = await serveHere(file, port, { ADMIN_TOKEN: token });
  const api = `http://127.0.0.1:${adminPort}/api/v1`;
  const receiverNow = async () => {
    const { deliveries } = (await (await fetch(`${api}/status`)).json()) as Status;
    return deliveries?.find(({ channel }) => channel === 'webhook') ?? null;
  };
  receiver.script.push(...Array<number>(100_000).fill(500));
  const began = Date.now();
  for (let who = 0; who < many; who++) {
    await post(program.url, { sender_id: 'ada', conversation_id: who, text: 'hello' });
  }
  const ids = (): Set<unknown> =>
    new Set(receiver.received.map((one) => one.headers['webhook-id']));
  while (ids().size < many) await receiver.waitFor(receiver.received.length + 1);
  const failing = await receiverNow();
  assert.equal(failing?.state, 'failing');
  assert.deepEqual([failing.waiting, failing.reasons[0]?.status], [many, 500]);
  assert.ok(failing.since! >= began && failing.oldestAt! >= began);
  receiver.script.length = 0;
  // The timers try some of them at the same time.
  for (let [before, isMore] = ['', true]; isMore;) {
    const answer = await fetch(`${api}/deliveries/try?${before}`, { method: 'POST', headers });
    const told = (await answer.json()) as { readonly more: boolean; readonly before: number };
    [before, isMore] = [`before=${told.before}`, told.more];
  }
  await until('no reply that waits', async () => (await receiverNow())!.waiting === 0);
  const arrived = receiver.received.filter(({ confirmed }) => confirmed);
  assert.equal(arrived.length, many);
  assert.equal(new Set(arrived.map((one) => one.headers['webhook-id'])).size, many);
});

test('its answers cost no connection, and one without an end holds up nothing', async () => {
  await using it = await startConfigured();
  for (let said = 0; said < 20; said++) await it.say('hello');
  assert.equal(it.receiver.connections, 1);
  it.receiver.script.push('drip');
  await it.say('hello');
  await it.say('the next one');
  assert.ok(it.receiver.received.every(({ headers: sent }) => sent['svc-attempt'] === '1'));
  assert.equal(await it.program.stop(), 0);
});
