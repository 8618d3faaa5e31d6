import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts } from 'node:net';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import {
  Connections,
  Exchange,
  type HttpRequest,
  type HttpResult,
} from '../http-client/exchange.ts';
import { LoadOnce } from '../load-once.ts';
import { oddMax, plainOpener, writeRequest } from './plain-connection.ts';

test('a server whose answers are odd again and again is left to undici', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\nold'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  let plain = 0;
  const target = {
    url,
    nearOnly: false,
    connectMs: patienceMs,
    connect: (options: NetConnectOpts) => {
      plain++;
      return connect(options);
    },
  };
  const undici = new LoadOnce(() => import('../http-client/undici-connection.ts'));
  const all = new Connections(10, plainOpener(undici, target));
  const clock = handClock();
  const request: HttpRequest = {
    method: 'GET',
    url,
    headers: {},
    body: null,
    deadlineAt: clock.in(60_000),
    bodyBytesMax: 100,
  };
  for (let asked = 0; asked < oddMax + 3; asked++) {
    const result = await new Promise<HttpResult>((resolve, reject) => {
      const exchange = new Exchange(request, undefined, resolve, reject);
      exchange.watch(clock.deadlines);
      exchange.text = writeRequest(request);
      all.take(exchange);
    });
    assert.ok(result.kind === 'answer' && result.body === 'old');
  }
  assert.equal(plain, oddMax);
  await all.close();
  server.close();
});
