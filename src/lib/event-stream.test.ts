import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { closedPort } from '../../test/fake/closed-port.ts';
import { patienceMs, until } from '../../test/support/waiting.ts';
import { readEventStream, type StreamEvent } from './event-stream.ts';

const type = { 'content-type': 'text/event-stream' };

/** Reads a stream of such a server. */
async function start(t: TestContext, handle: RequestListener) {
  const server = createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const events: StreamEvent[] = [];
  const stop = new AbortController();
  let opened = 0;
  const url = new URL(`http://127.0.0.1:${port}/events`);
  const take = (event: StreamEvent): void => void events.push(event);
  const read = (lastId: string | null, silenceMs = patienceMs, each = take) =>
    readEventStream({ url, headers: {}, lastId, silenceMs }, stop.signal, each, () => opened++);
  return { events, stop, read, url, opened: () => opened };
}

test('events come whole, however they are cut, and the last id is where to go on', async (t) => {
  const text = 'retry: 5\nid: a-1\n\nid: a-2\r\nevent: x\r\ndata: {"ü":1}\r\n\r\n:\n\ndata: y\n\n';
  const it = await start(t, (request, response) => {
    assert.equal(request.headers['last-event-id'], 'a-0');
    assert.equal(request.headers.accept, 'text/event-stream');
    response.writeHead(200, type);
    const bytes = [...Buffer.from(text)];
    const send = (): void => {
      const byte = bytes.shift();
      if (byte === undefined) response.end();
      else response.write(Buffer.of(byte), () => setImmediate(send));
    };
    send();
  });
  const end = await it.read('a-0');
  assert.deepEqual(it.events, [
    { kind: 'x', data: '{"ü":1}' },
    { kind: 'message', data: 'y' },
  ]);
  assert.deepEqual(end, { kind: 'lost', status: 200, body: '', lastId: 'a-2' });
  assert.equal(it.opened(), 1);
});

test('a stream that ends before its first event goes on from the id it began with', async (t) => {
  const it = await start(t, (request, response) => {
    response.writeHead(200, type);
    const told = request.headers['last-event-id'];
    if (told === undefined) response.end('retry: 2000\nid: a-1\n\n:\n\n');
    else response.end(told === 'cut' ? 'retry: 2000\nid: a-1' : ':\n\n');
  });
  assert.equal((await it.read(null)).lastId, 'a-1');
  assert.equal((await it.read('cut')).lastId, 'cut', 'half an id is none');
  assert.equal((await it.read('none')).lastId, 'none');
});

test('another answer is a refusal, and a redirect is not followed', async (t) => {
  const it = await start(t, (request, response) => {
    assert.equal(request.url, '/events');
    response.writeHead(request.headers['last-event-id'] === undefined ? 302 : 200, {
      location: '/elsewhere',
      'content-type': 'application/json',
    });
    response.end('{"code":"x"}');
  });
  const body = '{"code":"x"}';
  assert.deepEqual(await it.read(null), { kind: 'refused', status: 302, body, lastId: null });
  assert.deepEqual(await it.read('7'), { kind: 'refused', status: 200, body, lastId: '7' });
  assert.equal(it.opened(), 0);
});

test('silence, a break, and nobody there are a loss; being told to stop is not', async (t) => {
  const it = await start(t, (request, response) => {
    response.writeHead(200, type);
    response.write('id: 1\ndata: x\n\n');
    if (request.headers['last-event-id'] === 'break') response.socket!.destroy();
  });
  // The silence counts from the connection: the event may come too late for it.
  const silenceMs = 100;
  await until('an event with silence behind it', async () => {
    const { kind, lastId } = await it.read(null, silenceMs);
    assert.equal(kind, 'lost');
    return lastId === '1';
  });
  assert.equal((await it.read('break')).kind, 'lost');
  const stopped = await it.read(null, patienceMs, () => it.stop.abort());
  assert.equal(stopped.kind, 'cancelled');
  assert.equal((await it.read(null)).kind, 'cancelled');
});

test('nobody there is a loss without a status', async (t) => {
  const it = await start(t, () => {});
  it.url.port = String(closedPort);
  assert.deepEqual(await it.read(null), { kind: 'lost', status: null, body: '', lastId: null });
});

test('what the taker throws ends the stream and is thrown on', async (t) => {
  const it = await start(t, (_request, response) => {
    response.writeHead(200, type);
    response.write('data: x\n\n');
  });
  const fail = (): never => {
    throw new RangeError('a bug');
  };
  await assert.rejects(it.read(null, patienceMs, fail), RangeError);
});
