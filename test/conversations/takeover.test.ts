/** An operator takes a conversation over from a model that hangs, and releases it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { until } from '../support/waiting.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';

const token = 'an-administrator-token-of-the-tests';

type Row = { readonly id: string; readonly text: string };
type Told = Readonly<Record<string, unknown>> & { readonly rows: readonly Row[] };

test('a conversation is taken from a hanging model, answered, and given back', async () => {
  await using folder = await scratch();
  const hangs = Promise.withResolvers<void>();
  await using model = await startFakeOllama({ answer: 'by the model', after: hangs.promise });
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const more = { admin: { token_env: 'ADMIN_TOKEN' }, storage: { path: 'svc.db' } };
  const file = await writeConfig(folder.path, { ...webhookConfig(where), ...more });
  const env = { ADMIN_TOKEN: token };
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.status, told: (await response.json()) as Told };
  };
  const say = async (url: string, text: string): Promise<string> => {
    const said = { sender_id: 'ada', conversation_id: 'lobby', text };
    return String((await post(url, said)).body['message_id']);
  };

  await using first = await serve(file, port, env);
  const one = await say(first.url, 'my printer burns');
  await model.call(0);
  const { id } = (await ask('GET', 'conversations')).told.rows[0]!;
  assert.deepEqual((await ask('POST', `conversations/${id}/answer`, { text: 'x' })).status, 409);
  assert.equal((await ask('POST', `conversations/${id}/hold`)).status, 200);
  const two = await say(first.url, 'hello?');
  const waiting = async () => (await ask('GET', `holds/${id}/waiting`)).told.rows;
  assert.deepEqual(
    (await waiting()).map(({ text }) => text),
    ['my printer burns', 'hello?'],
  );
  hangs.resolve();
  const written = { text: 'Pull its plug. I come.', message: two };
  const { told } = await ask('POST', `conversations/${id}/answer`, written);
  assert.deepEqual(told['messages'], [one, two]);
  await receiver.waitFor(1);
  for (const [message, steps] of [
    [one, [{ kind: 'operator', answeredWith: two }]],
    [two, [{ kind: 'operator', answeredWith: null }]],
  ] as const) {
    const { trace } = (await ask('GET', `messages/${message}`)).told as unknown as {
      trace: { outcome: string; steps: readonly { kind: string }[] };
    };
    assert.equal(trace.outcome, 'by_hand');
    assert.deepEqual(
      trace.steps.filter(({ kind }) => kind === 'operator'),
      steps,
    );
  }
  const again = await ask('POST', `conversations/${id}/answer`, written);
  assert.deepEqual([again.status, again.told['code']], [409, 'answered_already']);
  const elsewhere = String(
    (await post(first.url, { sender_id: 'bob', conversation_id: 'hall', text: 'hi' })).body[
      'message_id'
    ],
  );
  for (const message of ['01kaabcdefghjkmnpqrst0', 'x'.repeat(300), '', elsewhere]) {
    const wrong = await ask('POST', `conversations/${id}/answer`, { text: 'x', message });
    assert.deepEqual([wrong.status, wrong.told['code']], [404, 'message_unknown'], message);
  }
  first.child.kill('SIGKILL');
  await first.ended;

  await using second = await serve(file, port, env);
  await say(second.url, 'it is out now');
  assert.deepEqual(
    (await waiting()).map(({ text }) => text),
    ['it is out now'],
    'a hold outlives the process',
  );
  const { rows: held } = (await ask('GET', 'holds')).told;
  assert.deepEqual(
    held.map((row) => row.id),
    [id],
  );
  assert.equal((await ask('POST', `conversations/${id}/release`)).status, 200);
  // One reply is to the message elsewhere.
  await receiver.waitFor(3);
  const [byHand, ...texts] = receiver.received.map(({ body }) => body['text']);
  assert.equal(byHand, 'Pull its plug. I come.');
  assert.deepEqual([...new Set(texts)], ['by the model']);
  const asked = await until('the model is asked', () => {
    return model.calls.findLast(({ text }) => text.includes('it is out now')) ?? null;
  });
  const lines = asked.body as { messages: readonly { content: string }[] };
  const seen = lines.messages.map(({ content }) => content);
  assert.ok(seen.includes('Pull its plug. I come.'), 'the model sees what the operator said');
  assert.equal((await ask('POST', `conversations/${id}/hold`)).status, 200);
  assert.equal((await ask('DELETE', 'senders/webhook/ada')).status, 200);
  assert.equal((await ask('GET', 'status')).told['held'], 0, 'nothing of theirs is left in a hold');
  const { rows } = (await ask('GET', 'audit')).told as unknown as { rows: { action: string }[] };
  const actions = new Set(rows.map(({ action }) => action));
  for (const action of ['hold', 'read_waiting', 'answer', 'release']) {
    assert.ok(actions.has(action), action);
  }
});
