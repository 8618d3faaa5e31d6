/** The plain client and undici over real sockets: the bytes to a server, and its answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createDeadlines } from '../../../src/lib/deadlines.ts';
import { createHttpClient } from '../../../src/lib/http-client.ts';
import { type HttpRequest } from '../../../src/lib/http-client/exchange.ts';
import { fromNow } from '../../support/hand-clock.ts';
import { corpus } from './corpus.ts';
import { patienceMs } from '../../support/waiting.ts';

/** A server of bare sockets, with both clients. */
async function bench(answer: (socket: Socket, asked: string) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => answer(socket, bytes.toString('latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = () => [true, false].map((plain) => createHttpClient(createDeadlines(), { plain }));
  let clients = open();
  const close = () => Promise.all(clients.map((client) => client.close()));
  return {
    send: (more: Partial<HttpRequest>) =>
      Promise.all(
        clients.map((client) =>
          client.send({
            method: 'POST',
            url: new URL(`http://127.0.0.1:${port}/`),
            headers: {},
            body: 'hello',
            deadlineAt: fromNow(patienceMs),
            bodyBytesMax: 100_000,
            ...more,
          }),
        ),
      ),
    port,
    /** Makes new clients, since a client remembers a server with odd answers. */
    async renew(): Promise<void> {
      await close();
      clients = open();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await close();
      server.close();
    },
  };
}

const bodies = [
  '',
  'ä€😀\0\r\n\r\nGET / HTTP/1.1\r\n\r\n',
  'half \ud800 a pair \udc00',
  'x'.repeat(4_000),
];
const texts = ['', ' ', ' a ', 'a\tb', '\x7f', 'a\0', 'a\x01', 'é', '\xff', '\x80', '€', '😀'];
const breaks = ['a\rb', 'a\nb', 'a\r\nx-c: d', 'a\r\n\r\nGET /'];
const values: readonly unknown[] = [undefined, null, 5, true, ['a', 'b'], ['a\r\nb'], { a: 1 }];
const odd = [
  '',
  ' ',
  'a b',
  'a:',
  'a\r\nb',
  'é',
  '"a"',
  '(a)',
  "!#$%&'*+-.^_`|~",
  'X-Upper',
  'ſ',
  '5',
];
const meaning = [
  'Connection',
  'Keep-Alive',
  'Transfer-Encoding',
  'upgrade',
  'Expect',
  'Host',
  'host',
];
const names = ['Content-Length', 'content-type', '__proto__', 'constructor', 'TE', 'Trailer'];
const requests: readonly Partial<HttpRequest>[] = [
  {},
  ...[null, '', 'a body'].flatMap((body) => [
    { method: 'GET' as const, body },
    { method: 'DELETE' as const, body },
    { method: 'POST' as const, body },
  ]),
  ...bodies.map((body) => ({ body })),
  ...[...texts, ...breaks, ...values].map((value) => ({
    headers: { 'x-a': value as string, accept: '*/*' },
  })),
  ...[...odd, ...meaning, ...names].map((name) => ({ headers: { [name]: 'close', 'x-b': 'c' } })),
  { headers: { 'content-length': '5' } },
  { headers: { 'Content-Length': '6' } },
  { headers: { host: 'elsewhere.test' } },
  { headers: { connection: 'keep-alive' } },
  { headers: { 'x-a': 'b', 'X-A': 'c' } },
];

test('a server is sent the same, and the same requests are refused', async () => {
  const asked: string[] = [];
  await using it = await bench((socket, text) => {
    asked.push(text);
    socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  });
  for (const request of requests) {
    asked.length = 0;
    await it.renew();
    const [plain, undici] = await it.send(request);
    assert.deepEqual(plain, undici, JSON.stringify(request));
    assert.deepEqual(asked.slice(0, 1), asked.slice(1, 2), JSON.stringify(request));
    assert.ok(asked.length === 0 || asked.length === 2, JSON.stringify(request));
  }
});

test('so are its path and its host', async () => {
  const asked: string[] = [];
  await using it = await bench((socket, text) => {
    asked.push(text);
    socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  });
  const paths = [
    '',
    '?',
    '?q=ä#f',
    '/a b/%20/ü',
    '//double',
    '/a\\b',
    '/?a=\r\nb',
    '/..;/x',
    '/%0d%0a',
  ];
  for (const path of paths) {
    for (const host of ['127.0.0.1', 'localhost', '2130706433', 'me:secret@127.0.0.1']) {
      asked.length = 0;
      await it.renew();
      const url = new URL(`http://${host}:${it.port}${path}`);
      const [plain, undici] = await it.send({ url });
      assert.deepEqual(plain, undici, url.href);
      assert.equal(asked.length, 2);
      assert.equal(asked[0], asked[1]);
    }
  }
});

test('of what a real server sends and then ends they make the same', async () => {
  let bytes = corpus[0]!;
  await using it = await bench((socket) => socket.end(bytes));
  for (bytes of corpus) {
    await it.renew();
    const [plain, undici] = await it.send({ method: 'GET', body: null });
    assert.deepEqual(plain, undici, JSON.stringify(bytes.toString('latin1').slice(0, 300)));
  }
});

test('a connection on which an answer was odd goes on, however much comes on it', async () => {
  const sockets = new Set<Socket>();
  const body = 'x'.repeat(3_000_000);
  const twice = 'Set-Cookie: a\r\nSet-Cookie: b\r\n';
  await using it = await bench((socket) => {
    sockets.add(socket);
    socket.write(`HTTP/1.1 200 OK\r\n${twice}Content-Length: ${body.length}\r\n\r\n${body}`);
  });
  for (let asked = 0; asked < 3; asked++) {
    const [plain, undici] = await it.send({ method: 'GET', body: null, bodyBytesMax: 5_000_000 });
    assert.ok(plain?.kind === 'answer' && plain.body === body);
    assert.deepEqual(plain, undici);
    await setImmediate();
  }
  assert.equal(sockets.size, 2, 'one for each client');
});
