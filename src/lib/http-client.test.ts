import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createDeadlines } from './deadlines.ts';
import { createHttpClient, type HttpRequest } from './http-client.ts';

async function serving(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = createHttpClient(createDeadlines(), { connections: 1 });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=c`);
  const ask = (more: Partial<HttpRequest> = {}): HttpRequest => ({
    method: 'POST',
    url,
    headers: { 'content-type': 'text/plain' },
    body: 'hello',
    deadlineAt: Date.now() + 5_000,
    bodyBytesMax: 1_000,
    ...more,
  });
  return {
    client,
    ask,
    server,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

test('an answer of any status is an answer, with its headers and whole body', async () => {
  await using place = await serving((request, response) => {
    response.writeHead(418, { 'x-path': request.url, 'x-type': request.headers['content-type'] });
    response.write('caf');
    void once(request.resume(), 'end').then(() => response.end('é'));
  });
  const result = await place.client.send(place.ask());
  assert.ok(result.kind === 'answer');
  assert.deepEqual([result.status, result.body], [418, 'café']);
  assert.deepEqual([result.headers['x-path'], result.headers['x-type']], ['/a?b=c', 'text/plain']);
});

test('an informational answer is not the answer, and a redirect is not followed', async () => {
  let requests = 0;
  await using place = await serving((_, response) => {
    requests++;
    response.writeEarlyHints({ link: '</a>; rel=preload' }, () => {
      response.writeHead(307, { location: '/elsewhere' }).end('moved');
    });
  });
  const result = await place.client.send(place.ask());
  assert.ok(result.kind === 'answer');
  assert.deepEqual([result.status, result.body, requests], [307, 'moved', 1]);
});

test('a body may be as long as its limit and no longer, unless nobody wants it', async () => {
  await using place = await serving((_, response) => response.end('x'.repeat(1_000)));
  const whole = await place.client.send(place.ask());
  assert.equal(whole.kind === 'answer' && whole.body.length, 1_000);
  const long = await place.client.send(place.ask({ bodyBytesMax: 999 }));
  assert.deepEqual(long, { kind: 'fault', fault: 'answer_too_large', sent: true, code: null });
  const none = await place.client.send(place.ask({ discardBody: true, bodyBytesMax: 99 }));
  assert.equal(none.kind === 'answer' && none.body, '');
});

test('a deadline ends a call that got half an answer, and the next call works', async () => {
  let requests = 0;
  await using place = await serving((_, response) => {
    if (++requests === 1) response.write('half');
    else response.end('whole');
  });
  const late = await place.client.send(place.ask({ deadlineAt: Date.now() + 30 }));
  assert.deepEqual(late, { kind: 'fault', fault: 'timeout', sent: true, code: null });
  const next = await place.client.send(place.ask());
  assert.equal(next.kind === 'answer' && next.body, 'whole');
});

test('a call cancelled while it waits for a connection is never sent', async () => {
  const bodies: string[] = [];
  const first = Promise.withResolvers<() => void>();
  await using place = await serving((request, response) => {
    void request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
    request.on('end', () => {
      if (bodies.length === 1) first.resolve(() => response.end('1'));
      else response.end('later');
    });
  });
  const stop = new AbortController();
  const one = place.client.send(place.ask({ body: 'one' }));
  const answer = await first.promise;
  const two = place.client.send(place.ask({ body: 'two' }), stop.signal);
  stop.abort();
  assert.deepEqual(await two, { kind: 'fault', fault: 'cancelled', sent: false, code: null });
  answer();
  assert.equal((await one).kind, 'answer');
  assert.equal((await place.client.send(place.ask({ body: 'three' }))).kind, 'answer');
  assert.deepEqual(bodies, ['one', 'three']);
});

test('a call cancelled under way closes its connection', async () => {
  const closed = Promise.withResolvers<void>();
  const stop = new AbortController();
  await using place = await serving((request) => {
    request.socket.on('close', () => closed.resolve());
    stop.abort();
  });
  const result = await place.client.send(place.ask(), stop.signal);
  assert.deepEqual(result, { kind: 'fault', fault: 'cancelled', sent: true, code: null });
  await closed.promise;
  const again = await place.client.send(place.ask(), stop.signal);
  assert.deepEqual(again, { kind: 'fault', fault: 'cancelled', sent: false, code: null });
});

test('a broken connection may have been heard, a refused one was not', async () => {
  await using place = await serving((request) => request.socket.destroy());
  const broken = await place.client.send(place.ask());
  assert.ok(broken.kind === 'fault');
  assert.deepEqual([broken.fault, broken.sent], ['connection_lost', true]);
  place.server.close();
  await once(place.server, 'close');
  const refused = await place.client.send(place.ask());
  const expected = { fault: 'connect_failed', sent: false, code: 'ECONNREFUSED' };
  assert.deepEqual(refused, { kind: 'fault', ...expected });
});

test('a header that HTTP does not allow is a fault, not a throw', async () => {
  await using place = await serving((_, response) => response.end());
  const result = await place.client.send(place.ask({ headers: { 'x-bad': 'a\nb' } }));
  assert.equal(result.kind, 'fault');
});
