import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createNetServer, type AddressInfo, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { closedPort } from '../../test/fake/closed-port.ts';
import { floods, noFloods } from '../../test/fake/floods.ts';
import { ownHost } from '../../test/fake/own-host.ts';
import { startWeb } from '../../test/fake/web.ts';
import { handClock } from '../../test/support/hand-clock.ts';
import { patienceMs } from '../../test/support/waiting.ts';
import { createHttpClient } from './http-client.ts';
import { type HttpRequest } from './http-client/exchange.ts';
import { Stopper } from './stop.ts';

/** A server with the given behaviour, and a client for it; time stands still. */
async function benchOf(plain: boolean, listener: RequestListener) {
  const server = createServer(listener);
  let connections = 0;
  server.on('connection', () => connections++);
  server.listen(0, ownHost);
  await once(server, 'listening');
  const url = new URL(`http://${ownHost}:${(server.address() as AddressInfo).port}/path?q=1`);
  const clock = handClock();
  const { deadlines } = clock;
  const client = createHttpClient(deadlines, { connectMs: patienceMs, plain });
  const { port } = url;
  return {
    client,
    clock,
    deadlines,
    port,
    connections: () => connections,
    request: (more: Partial<HttpRequest> = {}): HttpRequest => ({
      method: 'POST',
      url,
      headers: { 'content-type': 'text/plain' },
      body: 'ä body',
      deadlineAt: clock.in(5_000),
      bodyBytesMax: 1_000,
      ...more,
    }),
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
      await client.close();
    },
  };
}

const testsOf = (plain: boolean) => (): void => {
  const bench = (listener: RequestListener) => benchOf(plain, listener);

  test('sends bytes, by any method, and gives bytes back where they are asked for', async () => {
    await using it = await bench((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => response.end(Buffer.concat(parts)));
    });
    const body = Uint8Array.from([0, 255, 200, 13, 10, 128]);
    for (const method of ['POST', 'PUT', 'PATCH'] as const) {
      const result = await it.client.send(it.request({ method, body, asBytes: true }));
      assert.ok(result.kind === 'answer' && result.body === '');
      assert.deepEqual(new Uint8Array(result.bytes!), body, method);
    }
  });

  test('tells a body piece by piece as it comes', async () => {
    const first = Promise.withResolvers<void>();
    await using it = await bench((_, response) => {
      response.write('one,');
      void first.promise.then(() => response.end('two'));
    });
    const told: [number, string][] = [];
    const heard = (status: number, part: Buffer): void => {
      told.push([status, String(part)]);
      first.resolve();
    };
    const result = await it.client.send(it.request({ heard }));
    assert.ok(result.kind === 'answer' && result.body === 'one,two');
    assert.equal(told.map(([, text]) => text).join(''), 'one,two');
    assert.deepEqual(told[0], [200, 'one,']);
  });

  test('sends what it is given, and gives back status, headers and body as text', async () => {
    await using it = await bench((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => (text += part));
      request.on('end', () => {
        response.writeHead(201, { 'x-one': 'two' });
        response.write('ö');
        response.end(`${request.method} ${request.url} ${text}`);
      });
    });
    const result = await it.client.send(it.request());
    assert.ok(result.kind === 'answer');
    assert.equal(result.status, 201);
    assert.equal(result.headers['x-one'], 'two');
    assert.equal(result.body, 'öPOST /path?q=1 ä body');
    // A connection is free again one turn of the event loop after its answer.
    await setImmediate();
    const get = await it.client.send(it.request({ method: 'GET', body: null }));
    assert.ok(get.kind === 'answer' && get.body === 'öGET /path?q=1 ');
    assert.equal(it.connections(), 1, 'the connection was used again');
    assert.equal(it.deadlines.size, 0, 'no deadline is left behind');
  });

  test('takes a body up to the limit and no byte more, its length declared or not', async () => {
    let size = 1_000;
    let chunked = false;
    await using it = await bench((_request, response) => {
      if (!chunked) response.setHeader('content-length', size);
      response.write('a'.repeat(size - 1));
      response.end('a');
    });
    for (chunked of [false, true]) {
      size = 1_000;
      const fits = await it.client.send(it.request());
      assert.ok(fits.kind === 'answer' && fits.body.length === 1_000);
      size = 1_001;
      const over = await it.client.send(it.request());
      assert.ok(over.kind === 'fault' && over.fault === 'answer_too_large' && over.sent);
    }
  });

  test('ends at the deadline, though the body keeps dripping', async () => {
    const dripped = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    await using it = await bench((_request, response) => {
      let drops = 0;
      const drip = (): void => {
        if (response.closed) return gone.resolve();
        response.write('.');
        if (++drops === 5) dripped.resolve();
        globalThis.setImmediate(drip);
      };
      drip();
    });
    const bounds = { deadlineAt: it.clock.in(10), bodyBytesMax: Infinity };
    const sending = it.client.send(it.request(bounds));
    await dripped.promise;
    it.clock.pass(10);
    assert.deepEqual(await sending, { kind: 'fault', fault: 'timeout', sent: true, code: null });
    await gone.promise;
  });

  test('hands a redirect back', async () => {
    let asked = 0;
    await using it = await bench((_request, response) => {
      asked++;
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    const result = await it.client.send(it.request());
    assert.ok(result.kind === 'answer' && result.status === 307);
    assert.equal(asked, 1);
  });

  test('is not taken in by an early hint', async () => {
    await using it = await bench((_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' });
      response.end('real');
    });
    const result = await it.client.send(it.request());
    assert.ok(result.kind === 'answer' && result.status === 200 && result.body === 'real');
  });

  test('reads no further when an answer is drowned in what comes beside it', async () => {
    const decent = Object.entries(noFloods).map(([path, [show]]) => [path, show] as const);
    await using web = await startWeb({ ...floods, ...Object.fromEntries(decent) });
    await using it = await bench((_request, response) => response.end());
    const ask = (path: string) => {
      const url = new URL(path, web.origin);
      return it.client.send(it.request({ url, bodyBytesMax: 1_000_000 }));
    };
    for (const path of Object.keys(floods)) {
      const result = await ask(path);
      assert.ok(result.kind === 'fault' && result.fault === 'answer_too_large', path);
    }
    for (const [path, [, body]] of Object.entries(noFloods)) {
      const result = await ask(path);
      assert.ok(result.kind === 'answer' && result.body === body, path);
    }
  });

  test('counts what comes beside an answer anew for each answer of a connection', async () => {
    await using it = await bench((_request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(30_000) }).end('short');
    });
    for (let asked = 0; asked < 20; asked++) {
      const answer = await it.client.send(it.request());
      assert.ok(answer.kind === 'answer' && answer.body === 'short', String(asked));
      await setImmediate();
    }
    assert.equal(it.connections(), 1);
  });

  test('knows whether the request may have arrived', async () => {
    await using it = await bench((request) => request.socket.destroy());
    const lost = await it.client.send(it.request());
    assert.ok(lost.kind === 'fault' && lost.fault === 'connection_lost' && lost.sent);
    const url = new URL(`http://${ownHost}:${closedPort}/`);
    const refused = await it.client.send(it.request({ url }));
    const code = 'ECONNREFUSED';
    assert.deepEqual(refused, { kind: 'fault', fault: 'connect_failed', sent: false, code });
  });

  test('cancels a call under way, and closes its connection', async () => {
    const arrived = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    await using it = await bench((_request, response) => {
      response.on('close', () => gone.resolve());
      arrived.resolve();
    });
    const ending = new Stopper();
    const sending = it.client.send(it.request(), ending);
    await arrived.promise;
    ending.stop();
    assert.deepEqual(await sending, { kind: 'fault', fault: 'cancelled', sent: true, code: null });
    await gone.promise;
    assert.equal(it.deadlines.size, 0);
  });

  test('cancels a call before its connection is there, and never sends it', async () => {
    let asked = 0;
    await using it = await bench((_request, response) => {
      asked++;
      response.end();
    });
    const ending = new Stopper();
    const sending = it.client.send(it.request(), ending);
    ending.stop();
    const unsent = { kind: 'fault', fault: 'cancelled', sent: false, code: null };
    assert.deepEqual(await sending, unsent);
    assert.deepEqual(await it.client.send(it.request(), ending), unsent);
    const after = await it.client.send(it.request());
    assert.equal(after.kind, 'answer');
    assert.equal(asked, 1);
  });

  // mnutt/davros#94. RFC 9110, 12.5.3: a client that names no coding accepts any.
  test('is sent no body that is packed, by a server that packs for whoever takes it', async () => {
    await using it = await bench((request, response) => {
      const { 'accept-encoding': coding = 'gzip' } = request.headers;
      if (coding === 'identity') response.end('words');
      else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('words'));
    });
    for (const method of ['GET', 'POST', 'PUT'] as const) {
      const body = method === 'GET' ? null : 'ask';
      const result = await it.client.send(it.request({ method, body }));
      assert.ok(result.kind === 'answer' && result.body === 'words', method);
    }
    const headers = { 'Accept-Encoding': 'gzip' };
    const packed = await it.client.send(it.request({ headers, asBytes: true }));
    assert.ok(packed.kind === 'answer' && String(gunzipSync(packed.bytes!)) === 'words');
  });

  // capnproto/capnproto#2831: there the next request failed.
  test('sends nothing behind a request that its server answers without reading it', async () => {
    const sockets: Socket[] = [];
    const server = createNetServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n');
      });
    });
    server.listen(0, ownHost);
    await once(server, 'listening');
    await using it = await bench((_request, response) => response.end());
    const url = new URL(`http://${ownHost}:${(server.address() as AddressInfo).port}/`);
    for (const body of ['x'.repeat(20_000_000), 'short']) {
      const result = await it.client.send(it.request({ url, body }));
      assert.ok(result.kind === 'answer' && result.status === 413);
      await setImmediate();
    }
    assert.equal(sockets.length, 2);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  test('without need of the body, takes the status for the answer', async () => {
    await using it = await bench((_request, response) => {
      response.writeHead(202).write('a'.repeat(5_000));
    });
    const result = await it.client.send(it.request({ discardBody: true }));
    assert.ok(result.kind === 'answer' && result.status === 202 && result.body === '');
  });

  test('does not send what cannot be a header, and does not throw', async () => {
    await using it = await bench((_request, response) => response.end());
    const headers = { authorization: 'Bearer one\ntwo' };
    const result = await it.client.send(it.request({ headers }));
    const code = 'UND_ERR_INVALID_ARG';
    assert.deepEqual(result, { kind: 'fault', fault: 'connect_failed', sent: false, code });
    assert.equal(it.deadlines.size, 0);
  });

  test('ends every call when it is closed', async () => {
    const arrived = Promise.withResolvers<void>();
    await using it = await bench(() => arrived.resolve());
    const sending = it.client.send(it.request());
    await arrived.promise;
    await it.client.close();
    const result = await sending;
    assert.ok(result.kind === 'fault' && result.fault === 'cancelled');
    const after = await it.client.send(it.request());
    assert.ok(after.kind === 'fault' && after.fault === 'cancelled' && !after.sent);
  });

  test('reads no proxy setting from the environment', async () => {
    await using proxy = await bench((_request, response) => response.end('proxy'));
    await using it = await bench((_request, response) => response.end('direct'));
    const program = `
      import { createDeadlines } from './deadlines.ts';
      import { createHttpClient } from './http-client.ts';
      const bounds = { connectMs: ${patienceMs}, plain: ${plain} };
      const client = createHttpClient(createDeadlines(), bounds);
      const result = await client.send({
        method: 'GET', url: new URL('http://${ownHost}:${it.port}/'), headers: {}, body: null,
        deadlineAt: performance.now() + ${patienceMs}, bodyBytesMax: 100,
      });
      process.stdout.write(result.body ?? result.fault);
      await client.close();`;
    const address = `http://${ownHost}:${proxy.port}`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
      cwd: import.meta.dirname,
      env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, http_proxy: address },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const parts = await child.stdout.toArray();
    assert.equal(parts.join(''), 'direct');
    assert.equal(proxy.connections(), 0);
  });
};

suite('the HTTP client', { concurrency: true }, testsOf(true));
suite('the HTTP client by undici alone', { concurrency: true }, testsOf(false));
