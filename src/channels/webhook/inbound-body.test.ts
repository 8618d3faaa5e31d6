import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { ServerSockets, untilRead } from '../../../test/fake/server-sockets.ts';
import { answersOf, exchange, post, readAll, startWebhook } from '../../../test/fake/webhook.ts';

const mebibyte = 1_048_576;
const frame = '{"sender_id":"ann","text":""}';
const bodyOf = (bytes: number): string =>
  frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
const chunkedHead = post('', { 'content-length': '', 'transfer-encoding': 'chunked' });
const inChunks = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

test('a body of exactly 1 MiB is accepted, one byte more is 413', async () => {
  await using webhook = await startWebhook();
  const requests = [
    [post(bodyOf(mebibyte)), 200],
    [post(bodyOf(mebibyte + 1)), 413],
    [chunkedHead + inChunks(bodyOf(mebibyte)), 200],
    [chunkedHead + inChunks(bodyOf(mebibyte + 1)), 413],
  ] as const;
  for (const [request, status] of requests) {
    const [answer, ...more] = await exchange(webhook.port, request);
    assert.equal(answer?.status, status);
    assert.deepEqual(more, []);
  }
  assert.equal(webhook.accept.messages.length, 2);
});

test('a client that writes its whole body before it reads gets the early answer', async () => {
  await using webhook = await startWebhook();
  const large = Buffer.alloc(7 * mebibyte, 'x').toString('latin1');
  const cases = [
    [post(large, { authorization: '' }), 401],
    [post(large), 413],
    [post(large, { 'content-type': 'text/plain' }), 415],
    [chunkedHead + inChunks(large), 413],
  ] as const;
  for (const [request, status] of cases) {
    const socket = connect(webhook.port, '127.0.0.1');
    socket.pause();
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(request, 'latin1', (error) => (error ? reject(error) : resolve()));
    });
    const [answer] = answersOf(await readAll(socket));
    assert.equal(answer?.status, status);
    assert.equal(answer?.headers.get('connection'), 'close');
  }
});

test('a body that goes on beyond 8 MiB after the answer is cut off', async () => {
  await using webhook = await startWebhook();
  const socket = connect(webhook.port, '127.0.0.1');
  const all = readAll(socket);
  socket.write(post('', { 'content-length': String(1_000 * mebibyte) }));
  const part = Buffer.alloc(mebibyte);
  let written = 0;
  while (!socket.destroyed && written < 40) {
    written++;
    await new Promise((resolve) => socket.write(part, resolve));
  }
  assert.match(await all, /^HTTP\/1\.1 413 /);
  assert.ok(written < 40, 'the connection was closed');
});

test('with Expect: 100-continue the body is asked for only when it will be read', async () => {
  await using webhook = await startWebhook();
  const socket = connect(webhook.port, '127.0.0.1');
  const all = readAll(socket);
  const body = '{"sender_id":"ann","text":"hello"}';
  const length = String(body.length);
  socket.write(post('', { expect: '100-continue', 'content-length': length }));
  await once(socket, 'data');
  socket.write(body);
  const text = await all;
  assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);

  const refused = connect(webhook.port, '127.0.0.1');
  const answer = readAll(refused);
  const more = { expect: '100-continue', 'content-length': length, authorization: 'Bearer no' };
  refused.write(post('', more));
  await once(refused, 'data');
  refused.end();
  assert.match(await answer, /^HTTP\/1\.1 401 /);
});

test('a body that is good before it has come whole is waited for', async () => {
  using sockets = new ServerSockets();
  await using webhook = await startWebhook();
  const socket = connect(webhook.port, '127.0.0.1');
  await once(socket, 'connect');
  const server = await sockets.of(socket);
  const rest = readAll(socket);
  const text = post('{"sender_id":"ann","text":"hi"}   ');
  socket.write(text.slice(0, -3));
  await untilRead(server, text.length - 3);
  assert.equal(webhook.accept.messages.length, 0);
  socket.write('   ');
  assert.equal(answersOf(await rest)[0]?.status, 200);
  assert.equal(webhook.accept.messages.length, 1);
});

test('bytes that are not UTF-8 are invalid JSON', async () => {
  await using webhook = await startWebhook();
  const body = Buffer.concat([
    Buffer.from('{"sender_id":"ann","text":"'),
    Buffer.from([0xc3, 0x28]),
    Buffer.from('"}'),
  ]);
  const head = Buffer.from(post('', { 'content-length': String(body.length) }));
  const [answer] = await exchange(webhook.port, Buffer.concat([head, body]));
  assert.equal(answer?.status, 400);
  assert.match(answer?.body ?? '', /"code":"invalid_json".*UTF-8/);
});
