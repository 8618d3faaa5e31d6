import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import {
  answered,
  apiKey,
  ask,
  chatPath,
  question,
  startCompletions,
  type RunningCompletions,
} from '../../test/fake/completions.ts';
import { answersOf, exchange, post, readAll, type Answer } from '../../test/fake/webhook.ts';
import { createListeners } from '../lib/listener.ts';
import { handClock } from '../../test/support/hand-clock.ts';
import { until, within } from '../../test/support/waiting.ts';
import { bodyBytesMax } from './api-frame.ts';

const good = JSON.stringify(question());
const chat = `POST ${chatPath}`;

function request(body = good, headers: Record<string, string> = {}, target = chat): string {
  return post(body, { host: '127.0.0.1', authorization: `Bearer ${apiKey}`, ...headers }, target);
}

/** The time goes on, so svc stops waiting for the rest of a body that it has refused. */
async function answersIn(api: RunningCompletions, text: string): Promise<readonly Answer[]> {
  let answers: readonly Answer[] | null = null;
  void exchange(api.port, text).then((all) => (answers = all));
  return until('the answers', () => {
    api.clock.pass(6_000);
    return answers;
  });
}

async function only(api: RunningCompletions, text: string): Promise<Answer> {
  const answers = await answersIn(api, text);
  assert.equal(answers.length, 1);
  return answers[0]!;
}

const errorIn = ({ body }: Answer): Record<string, unknown> =>
  (JSON.parse(body) as { error: Record<string, unknown> }).error;

const wrong = { authorization: 'Bearer no' };
const declared = { 'content-length': String(bodyBytesMax + 1) };

/** The request to send, and the expected status and code. */
const table: readonly [string, string, number, string | null][] = [
  ['another host', request(good, { host: 'evil.example' }, 'GET /nothing'), 421, 'unknown_host'],
  ['another host at /healthz', request('', { host: 'evil' }, 'GET /healthz'), 421, 'unknown_host'],
  ['another path', request(good, wrong, 'POST /nothing'), 404, 'not_found'],
  ['a path without /v1', request(good, {}, 'POST /chat/completions'), 404, 'not_found'],
  ['GET', request('', wrong, `GET ${chatPath}`), 405, 'method_not_allowed'],
  ['POST to the models', request(good, wrong, 'POST /v1/models'), 405, 'method_not_allowed'],
  ['OPTIONS', request('', {}, `OPTIONS ${chatPath}`), 405, 'method_not_allowed'],
  ['no key', request(good, { authorization: '' }), 401, 'invalid_api_key'],
  ['a wrong key', request(good, wrong), 401, 'invalid_api_key'],
  ['a wrong key at the models', request('', wrong, 'GET /v1/models'), 401, 'invalid_api_key'],
  ['two keys', request(good, { AUTHORIZATION: 'Bearer no' }), 401, 'invalid_api_key'],
  ['a wrong key and no JSON', request('x', wrong), 401, 'invalid_api_key'],
  ['gzip', request(good, { 'content-encoding': 'gzip' }), 415, 'unsupported_media_type'],
  ['a huge body', request('', declared), 413, 'body_too_large'],
  ['broken JSON', request('{"model":'), 400, 'invalid_json'],
  ['an empty body', request(''), 400, 'invalid_json'],
  ['a list', request('[]'), 400, null],
];

test('the first failed check gives the answer, in the form of the API', async () => {
  await using api = await startCompletions();
  for (const [name, text, status, code] of table) {
    const answer = await only(api, text);
    assert.equal(answer.status, status, name);
    const { type, ...error } = errorIn(answer);
    assert.equal(error['code'], code, name);
    assert.equal(type, 'invalid_request_error', name);
    assert.equal(answer.headers.get('access-control-allow-origin'), undefined, name);
  }
  assert.equal(api.accept.messages.length, 0);
  const codes = api.calls.filter(([name]) => name === 'messageRefused');
  assert.equal(codes.length, table.length);
});

test('the 404 names paths and base URL, the 401 the key, and the 405 the methods', async () => {
  await using api = await startCompletions();
  for (const path of ['/chat/completions', '/models', '/v1/responses', '/v1/embeddings', '/']) {
    const missing = errorIn(await only(api, request(good, {}, `POST ${path}`)));
    assert.match(String(missing['message']), /\/v1\/models and .* base URL .* ends in \/v1\.$/);
  }
  const unknown = errorIn(await only(api, request(good, wrong)));
  assert.match(String(unknown['message']), /^The API key is missing or wrong\./);
  const wrongMethod = await only(api, request('', {}, 'PUT /v1/models'));
  assert.equal(wrongMethod.headers.get('allow'), 'GET, HEAD');
});

test('the type of a body does not matter, nor do a byte order mark and other slashes', async () => {
  await using api = await startCompletions();
  const form = 'application/x-www-form-urlencoded';
  const marked = `\u{feff}${good}`;
  const requests = [
    request(good, { 'content-type': form }),
    request(good, { 'content-type': '' }),
    request(good, { 'content-type': 'application/json; charset=latin1' }),
    request(marked, { 'content-length': String(Buffer.byteLength(marked)) }),
    request(good, {}, 'POST /v1//chat/completions/?api-version=1'),
    request(good, {}, 'POST //v1/chat/completions'),
  ];
  for (const [at, text] of requests.entries()) {
    assert.match(await answerTo(api, text, at), /^HTTP\/1\.1 200 /, text);
  }
  const models = await only(api, request('', {}, 'GET /v1/models/?limit=1'));
  assert.equal(models.status, 200);
});

test('anybody may ask whether it is alive, and a listed host name is let in', async () => {
  await using api = await startCompletions({ allowedHosts: () => ['svc.example'] });
  const health = { host: 'SVC.example:8092', authorization: '' };
  const answer = await only(api, request('', health, 'GET /healthz'));
  assert.deepEqual([answer.status, answer.body], [200, '{"status":"ok"}']);
});

test('a bind beyond loopback takes every host name', async () => {
  const bind = { host: '127.0.0.1', port: 0, text: '', loopback: false, given: true };
  await using api = await startCompletions({ config: { bind } });
  const answer = await only(api, request('', { host: 'svc.lan' }, 'GET /v1/models'));
  assert.equal(answer.status, 200);
});

async function answerTo(api: RunningCompletions, text: string, at = 0): Promise<string> {
  const socket = connect(api.port, '127.0.0.1');
  const reading = readAll(socket);
  socket.write(text);
  await api.reply(answered('hello'), 'x', at);
  return reading;
}

test('HTTP/1.0 gets a whole answer, and a stream that ends with its connection', async () => {
  await using api = await startCompletions();
  const old = request().replace('HTTP/1.1', 'HTTP/1.0');
  assert.match(await answerTo(api, old), /^HTTP\/1\.1 200 [^]*"content":"hello"/);
  const stream = JSON.stringify(question({ stream: true }));
  const text = await answerTo(api, request(stream).replace('HTTP/1.1', 'HTTP/1.0'), 1);
  assert.match(text, /"content":"hello"[^]*\n\ndata: \[DONE\]\n\n$/);
  assert.doesNotMatch(text, /chunked/i);
});

test('a client that expects 100-continue gets it, but not for a body that is refused', async () => {
  await using api = await startCompletions();
  const expecting = { expect: '100-continue' };
  const text = await answerTo(api, request(good, expecting));
  assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  const refused = await answersIn(api, request('', { ...expecting, ...declared }));
  assert.deepEqual(
    refused.map(({ status }) => status),
    [413],
  );
});

test('pipelined requests are answered one after the other', async () => {
  await using api = await startCompletions();
  const socket = connect(api.port, '127.0.0.1');
  const reading = readAll(socket);
  socket.write(request(good, { connection: 'keep-alive' }) + request());
  await api.reply(answered('first'));
  await api.reply(answered('second'), 'x', 1);
  const answers = answersOf(await reading);
  assert.deepEqual(
    answers.map(({ body }) => /"content":"(\w+)"/.exec(body)?.[1]),
    ['first', 'second'],
  );
});

test('a hang-up with pipelined requests leaves none of them counted', async () => {
  await using api = await startCompletions({ config: { inFlightMax: 1 } });
  const socket = connect(api.port, '127.0.0.1');
  socket.write(request(good, { connection: 'keep-alive' }).repeat(4));
  const { gone } = await api.opened();
  socket.resetAndDestroy();
  await until('it is gone', () => gone.stopped);
  const asking = ask(api, chatPath, question());
  assert.deepEqual(await api.reply(answered('x'), 'x', 1), { kind: 'delivered' });
  assert.equal((await asking).status, 200);
  assert.equal(api.accept.messages.length, 2);
});

test('a hang-up within the body leaves nothing behind', async () => {
  await using api = await startCompletions({ config: { inFlightMax: 1 } });
  const cuts = [10, 200, request().length - 1];
  for (const cut of cuts) {
    const socket = connect(api.port, '127.0.0.1');
    socket.write(request().slice(0, cut));
    await sent(socket);
    socket.resetAndDestroy();
  }
  await until('there is room again', async () => {
    const answer = await ask(api, chatPath, {});
    await answer.text();
    return answer.status === 400;
  });
  assert.equal(api.accept.messages.length, 0);
});

function sent(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.write('', () => resolve()));
}

test('a body that does not come in time is given up', async () => {
  const clock = handClock();
  await using api = await startCompletions({ listeners: createListeners({}, clock) });
  const socket = connect(api.port, '127.0.0.1');
  let text: string | null = null;
  void readAll(socket).then((all) => (text = all));
  socket.write(request().slice(0, -5));
  await until('it is given up', () => {
    clock.pass(6_000);
    return text !== null;
  });
  assert.match(text!, /^(HTTP\/1\.1 408 [^]*)?$/);
  assert.equal(api.accept.messages.length, 0);
});

test('a large body without a declared length is read up to the limit', async () => {
  await using api = await startCompletions();
  const headers = { 'content-length': '', 'transfer-encoding': 'chunked' };
  const socket = connect(api.port, '127.0.0.1');
  const reading = readAll(socket);
  socket.on('error', () => {});
  socket.write(request('', headers));
  const part = 'x'.repeat(1_048_576);
  for (let mib = 0; mib < 33; mib++) socket.write(`100000\r\n${part}\r\n`);
  socket.write('0\r\n\r\n');
  const [answer] = answersOf(await reading);
  assert.equal(answer!.status, 413);
});

test('large bodies wait for room, and a client that leaves gives its room back', async () => {
  await using api = await startCompletions();
  const headers = { 'content-length': '', 'transfer-encoding': 'chunked' };
  const sockets = Array.from({ length: 4 }, () => connect(api.port, '127.0.0.1'));
  for (const socket of sockets) socket.write(request('', headers));
  await Promise.all(sockets.map(sent));
  const large = question({ messages: [{ role: 'user', content: 'x'.repeat(100_000) }] });
  const asking = ask(api, chatPath, large);
  const small = ask(api, chatPath, question());
  await api.reply(answered('small'));
  assert.equal((await small).status, 200);
  assert.equal(api.accept.messages.length, 1);
  sockets[0]!.resetAndDestroy();
  await api.reply(answered('large'), 'x', 1);
  assert.equal((await asking).status, 200);
  for (const socket of sockets) socket.destroy();
});

test('a client that reads nothing gets no more than its connection takes', async () => {
  await using api = await startCompletions();
  const socket = connect(api.port, '127.0.0.1');
  socket.pause();
  socket.write(request(JSON.stringify(question({ stream: true }))));
  const open = await api.opened();
  let whole = '';
  for (let part = 0; part < 100; part++) {
    whole += 'x'.repeat(200_000);
    open.show(whole);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const reading = readAll(socket);
  await api.reply(answered(whole));
  const text = await reading;
  // A pattern for twenty million characters can exceed the stack of its search.
  const parts = text.split('"content":"').slice(1);
  const lengths = parts.map((part) => part.indexOf('"')).filter((length) => length > 0);
  assert.equal(
    lengths.reduce((sum, length) => sum + length, 0),
    whole.length,
  );
  assert.ok(lengths.length < 100);
});

test('the end of the channel waits for no client that reads nothing', async () => {
  const api = await startCompletions();
  const socket = connect(api.port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => {});
  socket.write(request(JSON.stringify(question({ stream: true }))));
  const open = await api.opened();
  open.show('x'.repeat(30_000_000));
  await within('the disposal', Promise.resolve(api[Symbol.asyncDispose]()));
  socket.destroy();
});
