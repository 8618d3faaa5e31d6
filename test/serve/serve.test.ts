/** The real program over real sockets: from a POST to a delivered reply, and through restarts. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ModelCall } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { assertDescribed, operationsOf, type OpenApi } from '../admin/open-api.ts';
import {
  freePort,
  post,
  scratch,
  secret,
  serve,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';

/** A folder, fakes and a configuration, removed after the test. */
async function stage(t: TestContext) {
  const folder = await scratch();
  const model = await startFakeOllama();
  const receiver = await startReceiver();
  t.after(async () => {
    await receiver[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const port = await freePort();
  const adminPort = await freePort();
  const config = webhookConfig({
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: receiver.url,
  });
  return { folder: folder.path, model, receiver, port, adminPort, config };
}

/** The lines of the model's request, oldest first. */
function linesOf({ body }: ModelCall): readonly string[] {
  return (body as { messages: { content: string }[] }).messages.map(({ content }) => content);
}

for (const storage of [undefined, { path: 'svc.db' }]) {
  const form = storage === undefined ? 'in memory' : 'with storage';

  test(`a message is answered ${form}, and the reply names its conversation`, async (t) => {
    const { folder, receiver, port, config } = await stage(t);
    await using program = await serveHere(await writeConfig(folder, { ...config, storage }), port);
    const answer = await post(program.url, {
      sender_id: 'ada',
      text: 'hello',
      conversation_id: 42,
    });
    assert.equal(answer.status, 200);
    const [reply] = await receiver.waitFor(1);
    assert.equal(reply!.body['conversation_id'], 42);
    assert.equal(reply!.body['in_reply_to'], answer.body['message_id']);
    assert.equal(reply!.headers['webhook-id'], reply!.body['message_id']);
    assert.equal(typeof reply!.body['text'], 'string');
  });

  test(`an end ${form} finishes what is in hand, with 0`, async (t) => {
    const { folder, model, receiver, port, adminPort, config } = await stage(t);
    const watched = Promise.withResolvers<void>();
    await model.script({ answer: 'late but here', after: watched.promise });
    const file = await writeConfig(folder, { ...config, storage });
    // With storage, a process that gets a real signal; otherwise only the handler runs.
    await using program = await (storage === undefined ? serveHere : serve)(file, port);
    await post(program.url, { sender_id: 'ada', text: 'hello' });
    await model.call(0);
    const health = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${adminPort}/healthz`)).status;
    assert.equal(await health(), 200);
    if ('child' in program) program.child.kill('SIGTERM');
    else void program.stop();
    await program.saw('finishing what is in hand (1 message), for ');
    assert.equal(await health(), 503, 'who watches it sends nobody here any more');
    watched.resolve();
    assert.equal(await program.ended, 0);
    assert.equal(receiver.received.length, 1);
  });
}

test('a conversation remembers its turns over a kill -9, in order', async (t) => {
  const { folder, model, receiver, port, config } = await stage(t);
  await model.script((call) => ({ answer: `answer ${linesOf(call).length}` }));
  const file = await writeConfig(folder, { ...config, storage: { path: 'svc.db' } });
  {
    await using program = await serve(file, port);
    await post(program.url, { sender_id: 'ada', text: 'one' });
    await receiver.waitFor(1);
    program.child.kill('SIGKILL');
    await program.ended;
  }
  await using program = await serveHere(file, port);
  await post(program.url, { sender_id: 'ada', text: 'two' });
  await model.call(1);
  assert.deepEqual(linesOf(model.calls[1]!), ['one', 'answer 1', 'two']);
});

test('a message accepted before a kill -9 is answered after the restart', async (t) => {
  const { folder, model, receiver, port, config } = await stage(t);
  await model.script({ fail: 'hang' });
  const file = await writeConfig(folder, { ...config, storage: { path: 'svc.db' } });
  let accepted: unknown;
  {
    await using program = await serve(file, port);
    accepted = (await post(program.url, { sender_id: 'ada', text: 'hello' })).body['message_id'];
    await model.call(0);
    program.child.kill('SIGKILL');
    await program.ended;
  }
  await model.script({ answer: 'at last' });
  await using program = await serveHere(file, port);
  const [reply] = await receiver.waitFor(1);
  assert.equal(reply!.body['in_reply_to'], accepted);
  assert.equal(reply!.body['text'], 'at last');
  assert.equal((await post(program.url, { sender_id: 'ada', text: 'again' })).status, 200);
});

test('a private brain makes no connection at all to its cloud model', async (t) => {
  const { folder, model, receiver, port, config } = await stage(t);
  const cloud = await startFakeOpenai();
  t.after(() => cloud[Symbol.asyncDispose]());
  await model.script({ fail: '500' });
  (config.brains[0]!['models'] as unknown[]).unshift({
    provider: 'hosted_runtime',
    model_id: 'gpt-6-luna',
    locality: 'cloud',
    base_url: cloud.url,
    api_key_env: 'CLOUD_KEY',
    max_retries: 0,
  });
  const file = await writeConfig(folder, config);
  await using program = await serveHere(file, port, { CLOUD_KEY: 'sk-not-to-be-seen-anywhere' });
  await post(program.url, { sender_id: 'ada', text: 'hello' });
  const [reply] = await receiver.waitFor(1);
  assert.match(String(reply!.body['text']), /no answer right now/);
  assert.equal(cloud.connections, 0);
  assert.ok(!program.log().includes('sk-not-to-be-seen'));
});

test('the mapping names the keys of both directions', async (t) => {
  const { folder, receiver, port, config } = await stage(t);
  const webhook = config.channels[0]!['webhook'] as Record<string, unknown>;
  webhook['mapping'] = { sender_id: 'from', text: 'body', conversation_id: 'thread' };
  await using program = await serveHere(await writeConfig(folder, config), port);
  const sent = { from: 7, body: 'hello', thread: '0042' };
  assert.equal((await post(program.url, sent)).status, 200);
  const [reply] = await receiver.waitFor(1);
  assert.equal(reply!.body['thread'], '0042');
  assert.equal(typeof reply!.body['body'], 'string');
});

test('every status of the contract comes from the running program', async (t) => {
  const { folder, port, config } = await stage(t);
  await using program = await serveHere(await writeConfig(folder, config), port);
  const { url } = program;
  const message = { sender_id: 'ada', text: 'hello' };
  const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status;
  assert.equal(await statusOf(post(url, message)), 200);
  assert.equal(await statusOf(post(url, '{"sender_id":')), 400);
  assert.equal(await statusOf(post(url, { text: 'hello' })), 400);
  assert.equal(await statusOf(post(url, { sender_id: 'ada' })), 400);
  assert.equal(await statusOf(post(url, message, { authorization: 'Bearer wrong' })), 401);
  assert.equal(await statusOf(post(`${url}/elsewhere`, message)), 404);
  assert.equal(await statusOf(fetch(url)), 405);
  assert.equal(await statusOf(post(url, { ...message, text: 'x'.repeat(1 << 20) })), 413);
  assert.equal(await statusOf(post(url, message, { 'content-type': 'text/plain' })), 415);
  assert.equal(await statusOf(fetch(new URL('/healthz', url))), 200);
});

test('the admin server of the running program answers each of its paths', async (t) => {
  const { folder, port, adminPort, config } = await stage(t);
  await using _program = await serveHere(await writeConfig(folder, config), port);
  const answerOf = (path: string, method = 'GET'): Promise<Response> =>
    fetch(`http://127.0.0.1:${adminPort}${path}`, { method });
  const api = (await (await answerOf('/api/v1/openapi.json')).json()) as OpenApi;
  const operations = operationsOf(api).filter(({ path }) => !path.includes('{'));
  const paths = new Set(operations.map(({ path }) => path));
  assert.ok(paths.has('/ui') && paths.has('/metrics'));
  assert.ok(paths.has('/api/v1/conversations') && paths.has('/api/v1/dead-letters'));
  for (const operation of operations) {
    const answer = await answerOf(operation.path, operation.method);
    const { status, headers } = answer;
    // Only for operators, and this configuration has none.
    const closed = operation.security.length === 1;
    assert.equal(status, closed ? 403 : 200, operation.path);
    assertDescribed(api, operation, { status, headers, body: await bodyOf(answer) });
  }
  assert.equal((await answerOf('/builder')).status, 404);
});

/** Returns the whole text, or the first complete events of a stream, which never ends. */
async function bodyOf(answer: Response): Promise<string> {
  if (answer.headers.get('content-type') !== 'text/event-stream') return answer.text();
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('\n\n')) {
    const { value, done } = await reader.read();
    assert.ok(!done, 'it goes on');
    text += value;
  }
  await reader.cancel();
  return text.slice(0, text.lastIndexOf('\n\n'));
}

test('without storage, 10,000 unsettled messages are the most; then 503', async (t) => {
  const { folder, model, port, config } = await stage(t);
  await model.script({ fail: 'hang' });
  // The model gets one call at a time; waiting inside svc saves a thousand connections.
  Object.assign((config.brains[0]!['models'] as [object])[0], { max_in_flight: 1 });
  await using _program = await serveHere(await writeConfig(folder, config), port);
  const bodies = Array.from({ length: 10_050 }, (_, at) =>
    JSON.stringify({ sender_id: `s${at}`, text: 'hello' }),
  );
  const statuses = await pour(port, bodies);
  assert.deepEqual(
    ['200', '503'].map((wanted) => statuses.filter((status) => status === wanted).length),
    [10_000, 50],
  );
});

/** POSTs all bodies without waiting between them; resolves with their statuses. */
async function pour(port: number, bodies: readonly string[]): Promise<readonly string[]> {
  const socket = connect(port, '127.0.0.1');
  const head = [
    'POST /webhook HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${secret}`,
    'Content-Type: application/json',
  ];
  for (const body of bodies) {
    const lines = [...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body];
    socket.write(lines.join('\r\n'));
  }
  const statuses: string[] = [];
  let text = '';
  for await (const part of socket.setEncoding('latin1')) {
    text += String(part);
    const found = Array.from(text.matchAll(/HTTP\/1\.1 (\d+) [^]*?\r\n\r\n/g));
    statuses.push(...found.map((match) => match[1]!));
    const last = found.at(-1);
    if (last !== undefined) text = text.slice(last.index + last[0].length);
    if (statuses.length === bodies.length) break;
  }
  return statuses;
}

test('two programs never share one database', async (t) => {
  const { folder, port, config } = await stage(t);
  const file = await writeConfig(folder, { ...config, storage: { path: 'svc.db' } });
  await using first = await serveHere(file, port);
  await using second = startProgram(['serve', '--config', join(folder, 'svc.json')], {
    WEBHOOK_SECRET: secret,
  });
  assert.equal(await second.ended, 1);
  assert.match(second.log(), /svc\.db/);
  assert.equal((await post(first.url, { sender_id: 'ada', text: 'hello' })).status, 200);
});
