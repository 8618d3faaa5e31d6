/** The admin API of the running program, with and without the administrator's token. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { assertDescribed, operationsOf, type OpenApi } from './open-api.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const token = 'an-administrator-token-of-the-tests';
const conversation = 'order/7 ü';
const said = 'where is order seven';

/** A program that has answered one message, whose reply its receiver rejected. */
async function start(more: Record<string, unknown>, env: Record<string, string>) {
  const folder = await scratch();
  const model = await startFakeOllama();
  await model.script({ answer: 'on its way' });
  const receiver = await startReceiver();
  receiver.script.push(410);
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = { ...webhookConfig(where), admin: { token_env: 'ADMIN_TOKEN' }, ...more };
  const program = await serve(await writeConfig(folder.path, document), port, env);
  const accepted = await post(program.url, {
    sender_id: 'ada@example',
    text: said,
    conversation_id: conversation,
  });
  await receiver.waitFor(1);
  const origin = `http://127.0.0.1:${adminPort}`;
  const api = (await (await fetch(`${origin}/api/v1/openapi.json`)).json()) as OpenApi;
  return {
    program,
    id: String(accepted.body['message_id']),
    /** Asks as the operator, or with that bearer, and checks the answer against its description. */
    ask: async (method: string, path: string, values: readonly string[] = [], bearer = token) => {
      const rest = [...values];
      const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(rest.shift()!));
      const headers: Record<string, string> =
        bearer === '' ? {} : { authorization: `Bearer ${bearer}` };
      const answer = await fetch(origin + filled, { method, headers });
      const body = await answer.text();
      const operation = operationsOf(api).find((one) => one.path === path && one.method === method);
      assertDescribed(api, operation!, { status: answer.status, headers: answer.headers, body });
      return { status: answer.status, body };
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

type Started = Awaited<ReturnType<typeof start>>;

/** The one dead letter, once it exists. */
async function letterOf({ ask }: Started): Promise<string> {
  return until('a dead letter', async () => {
    const { body } = await ask('GET', '/api/v1/dead-letters', [], '');
    const { rows } = JSON.parse(body) as { rows: { id: string }[] };
    return rows[0]?.id ?? null;
  });
}

test('with the token, an operator sees and changes what a reader sees no text of', async () => {
  await using started = await start({ storage: { path: 'svc.db' } }, { ADMIN_TOKEN: token });
  const { ask, id, program } = started;
  const letter = await letterOf(started);
  const story = await ask('GET', '/api/v1/messages/{id}', [id], '');
  assert.equal(story.status, 200);
  assert.equal((JSON.parse(story.body) as { replies: object[] }).replies.length, 1);
  const reasons = await ask('GET', '/api/v1/dead-letters/reasons', [], '');
  assert.match(reasons.body, /"kind":"gone"/);
  for (const { body } of [story, reasons, await ask('GET', '/api/v1/dead-letters', [], '')]) {
    assert.doesNotMatch(body, /order|ada@|way/);
  }
  const key = ['webhook', conversation];
  for (const [path, values] of [
    ['/api/v1/messages/{id}/text', [id]],
    ['/api/v1/dead-letters/{id}', [letter]],
    ['/api/v1/conversations', []],
    ['/api/v1/conversations/{channel}/{conversation}', key],
    ['/api/v1/conversations/{channel}/{conversation}/turns', key],
    ['/api/v1/senders/{channel}/{sender}/turns', ['webhook', 'ada@example']],
  ] as const) {
    const { status, body } = await ask('GET', path, values);
    assert.equal(status, 200, `${path}: ${body}`);
    assert.ok(body.includes(conversation), `${path}: ${body}`);
    assert.equal((await ask('GET', path, values, '')).status, 401, path);
  }
  await ask('POST', '/api/v1/dead-letters/{id}/discard', [letter]);
  await ask('DELETE', '/api/v1/senders/{channel}/{sender}', ['webhook', 'ada@example'], 'wrong');
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0);
  const log = program.log();
  assert.match(log, new RegExp(`"code":"operator_wrote".*"id":"${letter}","who":"operator"`));
  assert.match(log, /"code":"bearer_refused".*"why":"wrong"/);
  assert.doesNotMatch(log, new RegExp(`${token}|${said}|on its way`));
});

test('without its variable svc starts, warns once and is read-only', async () => {
  await using started = await start({}, {});
  const { ask, id, program } = started;
  assert.equal((await ask('GET', '/api/v1/messages/{id}', [id], '')).status, 200);
  assert.equal((await ask('GET', '/api/v1/messages/{id}', [id])).status, 401);
  const { status, body } = await ask('GET', '/api/v1/messages/{id}/text', [id]);
  assert.equal(status, 403);
  assert.match(body, /"read_only".*Set ADMIN_TOKEN, which admin\.token_env names, and restart/);
  assert.equal(program.log().split('admin_token_unset').length, 2);
});
