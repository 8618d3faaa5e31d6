/** The headers and body of a request, and the time limit for a silent service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ask, onBearerRefused } from './api.ts';
import { lastEvent } from './events.ts';
import { useToken } from './token.ts';

/** The page asks its own origin; here that is a server of the test. */
async function serviceThat(answers: RequestListener): Promise<AsyncDisposable> {
  const server = createServer(answers).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { fetch } = globalThis;
  globalThis.fetch = (path, how) => fetch(new URL(path as string, origin), how);
  return {
    async [Symbol.asyncDispose]() {
      globalThis.fetch = fetch;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const silent: RequestListener = () => undefined;

test('a write names the revision that it changes, and shows the bearer', async () => {
  const heard: unknown[] = [];
  await using _service = await serviceThat(({ method, url, headers }, response) => {
    const { 'if-match': revision, authorization, 'content-type': type } = headers;
    heard.push([method, url, revision, authorization, type]);
    response.writeHead(200, { etag: '"r2"' }).end('{"revision":"r2"}');
  });
  const answer = await ask('config', { method: 'PUT', body: '{}', ifMatch: 'r1', token: 'sesame' });
  assert.deepEqual(answer, { kind: 'ok', value: { revision: 'r2' }, etag: 'r2' });
  assert.deepEqual(heard, [['PUT', '/api/v1/config', '"r1"', 'Bearer sesame', 'application/json']]);
});

test('what is not answered in its time is given up', async () => {
  await using _service = await serviceThat(silent);
  const answer = await ask('config', { limitMs: 100 });
  assert.ok(answer.kind === 'refused');
  assert.deepEqual([answer.status, answer.code], [0, 'too_slow']);
  assert.match(answer.detail, /within 100 ms\. Look on its machine/);
});

test('of a stream each event is heard, and has the whole time to come', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await using _service = await serviceThat(({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: 1\n\n: nothing\n\ndata: 2\n\ndata: {"accept":"${headers.accept}"}\n\n`);
  });
  const heard: unknown[] = [];
  const onEvent = (event: unknown): void => {
    heard.push(event);
    t.mock.timers.tick(99);
  };
  const answer = await ask('config/try', {
    method: 'POST',
    limitMs: 100,
    readStream: lastEvent(onEvent),
  });
  const value = { accept: 'text/event-stream' };
  assert.deepEqual(answer, { kind: 'ok', value, etag: null });
  assert.deepEqual(heard, [1, 2, value]);
});

test('a stream that says nothing more is given up, and a problem is no stream', async () => {
  let status = 200;
  await using _service = await serviceThat((_request, response) => {
    response.writeHead(status, { 'content-type': 'text/event-stream' });
    if (status === 200) response.write('data: 1\n\n');
    else response.end('{"code":"busy","detail":"Four are under way."}');
  });
  const heard: unknown[] = [];
  const readStream = lastEvent((event) => void heard.push(event));
  const late = await ask('config/try', { limitMs: 100, readStream });
  assert.ok(late.kind === 'refused' && late.code === 'too_slow');
  status = 429;
  const busy = await ask('config/try', { readStream });
  assert.ok(busy.kind === 'refused' && busy.code === 'busy');
  // On a busy machine the limit may end before the first event.
  assert.ok(heard.length <= 1 && heard.every((event) => event === 1));
});

test('who leaves first has given up', async () => {
  await using _service = await serviceThat(silent);
  const leaving = new AbortController();
  const asked = ask('config', { signal: leaving.signal });
  leaving.abort();
  const answer = await asked;
  assert.ok(answer.kind === 'refused');
  assert.equal(answer.code, 'given_up');
});

test('a refused bearer is told in words for people, and sent no more', async () => {
  const sent: unknown[] = [];
  const detail = 'Send the administrator token as Authorization: Bearer <token>.';
  await using _service = await serviceThat(({ headers }, response) => {
    sent.push(headers.authorization);
    response.writeHead(401).end(JSON.stringify({ code: 'unauthorized', detail }));
  });
  useToken.setState({ token: 'old' });
  onBearerRefused(() => useToken.setState({ hasLapsed: true }));
  const answers = [await ask('audit'), await ask('audit')];
  useToken.setState({ token: null, hasLapsed: false });
  assert.deepEqual(sent, ['Bearer old', undefined]);
  for (const answer of answers) {
    assert.ok(answer.kind === 'refused');
    assert.match(answer.detail, /^You are signed out\. Sign in again/);
  }
});
