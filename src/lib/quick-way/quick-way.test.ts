import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { good, whole } from '../../../test/chaos/quick-way/requests.ts';
import { ServerSockets, untilRead } from '../../../test/fake/server-sockets.ts';
import { answersOf, readAll } from '../../../test/fake/webhook.ts';
import { handClock, type HandClock } from '../../../test/hand-clock.ts';
import { createListeners, listenLimits, type Handler, type ListenLimits } from '../listener.ts';
import type { Answer } from './answer-text.ts';

const requestOf = (text: string): string => whole(good(JSON.stringify({ text })));
const answerOf = (way: string, body: Buffer): Answer => {
  const { text } = JSON.parse(body.toString()) as { text: string };
  return { status: 200, type: 'text/plain', body: `${way} ${text}` };
};

/** Says by which way a request came; the quick answer to `hung` waits for `finish`. */
function stage() {
  const hung: (() => void)[] = [];
  const came: (() => void)[] = [];
  const handler: Handler = Object.assign(
    (...[request, response, peer]: Parameters<Handler>) => {
      if (request.headers.authorization !== undefined) peer.known(response);
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        response.end(parts.length === 0 ? 'node' : answerOf('node', Buffer.concat(parts)).body);
      });
    },
    {
      quick: ({ body, missingBytes }: { body: Buffer; missingBytes: number }) => {
        if (missingBytes > 0) return 'wait' as const;
        const answer = answerOf('quick', body);
        if (answer.body.endsWith('thrown')) throw new Error('thrown');
        if (answer.body.endsWith('rejected')) return Promise.reject(new Error('rejected'));
        if (!answer.body.endsWith('hung')) return Promise.resolve(answer);
        came.shift()?.();
        return new Promise<Answer>((resolve) => hung.push(() => resolve(answer)));
      },
    },
  );
  return {
    handler,
    finish: () => hung.splice(0).forEach((finish) => finish()),
    hangs: () => new Promise<void>((resolve) => came.push(resolve)),
  };
}

async function listen(limits: Partial<ListenLimits> = {}, ownHttp = true) {
  const clock = handClock();
  const faults: unknown[] = [];
  const kit = { ...clock, ownHttp, fault: (error: unknown) => void faults.push(error) };
  const listeners = createListeners(limits, kit);
  const held = await listeners.take({ host: '127.0.0.1', port: 0 });
  assert.ok(held.kind === 'held');
  const { handler, finish, hangs } = stage();
  held.answer(handler);
  const it = { listeners, held, port: held.port, finish, hangs, clock, faults };
  return { ...it, [Symbol.asyncDispose]: () => held.release(0) };
}

/** Sends a request whose answer, the next one, has this body. */
async function answered(socket: Socket, request: string, body: string): Promise<void> {
  socket.write(request);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.equal(answer.toString('latin1').split('\r\n\r\n')[1], body);
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await answered(socket, requestOf('first'), 'quick first');
  return socket;
}

/** On which one is taken, and not answered. */
async function openHung(it: Awaited<ReturnType<typeof listen>>): Promise<Socket> {
  const socket = await open(it.port);
  const hangs = it.hangs();
  socket.write(requestOf('hung'));
  await hangs;
  return socket;
}

const bodies = (text: string): string[] => answersOf(text).map(({ body }) => body);
/** Is not plain, so that `node:http` has the connection afterwards. */
const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

test('plain requests go the quick way, one after the other', async () => {
  await using it = await listen();
  const socket = await open(it.port);
  for (const text of ['a', 'b', 'c']) await answered(socket, requestOf(text), `quick ${text}`);
  // What is given to node:http takes the whole connection there.
  const rest = readAll(socket);
  socket.write(requestOf('d') + requestOf('e') + last);
  assert.deepEqual(bodies(await rest), ['node d', 'node e', 'node']);
});

test('a connection that node:http was given something else on stays with it', async () => {
  await using it = await listen();
  const socket = await open(it.port);
  await answered(socket, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'node');
  await answered(socket, requestOf('a'), 'node a');
  socket.destroy();
});

test('switched off, and with a handler that has none, everything goes to node:http', async () => {
  await using off = await listen({}, false);
  const one = connect(off.port, '127.0.0.1');
  await answered(one, requestOf('a'), 'node a');
  await using it = await listen();
  const two = await open(it.port);
  it.held.answer((_request, response) => void response.end('replaced'));
  await answered(two, requestOf('a'), 'replaced');
  for (const socket of [one, two]) socket.destroy();
});

test('what comes before the answer is held, and answered behind it', async () => {
  using sockets = new ServerSockets();
  await using it = await listen();
  const socket = await openHung(it);
  const [server, rest] = [await sockets.of(socket), readAll(socket)];
  const more = requestOf('a') + requestOf('b') + last;
  socket.write(more);
  await untilRead(server, server.bytesRead + more.length);
  // What is not held is answered within a turn.
  await setImmediate();
  it.finish();
  assert.deepEqual(bodies(await rest), ['quick hung', 'node a', 'node b', 'node']);
});

test('a request that was taken keeps its connection, where an idle one would go', async () => {
  await using it = await listen({ connectionsMax: 2 });
  const busy = await openHung(it);
  const idle = await open(it.port);
  const closed = once(idle, 'close');
  const newcomer = await open(it.port);
  await closed;
  const rest = readAll(busy);
  it.finish();
  busy.write(last);
  assert.deepEqual(bodies(await rest), ['quick hung', 'node']);
  newcomer.destroy();
});

test('who was answered on the quick way is no stranger, and idle again', async () => {
  await using it = await listen({ connectionsMax: 2 });
  const known = await open(it.port);
  const stranger = connect(it.port, '127.0.0.1');
  await answered(stranger, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'node');
  const gone = once(stranger, 'close');
  const second = await open(it.port);
  await gone;
  await answered(known, requestOf('b'), 'quick b');
  for (const socket of [known, second]) socket.destroy();
});

test('closing waits for an answer of the quick way, and closes what is idle at once', async () => {
  const it = await listen();
  const [idle, busy] = [await open(it.port), await openHung(it)];
  const [closed, rest] = [once(idle, 'close'), readAll(busy)];
  idle.resume();
  const released = it.held.release(60_000);
  await closed;
  it.finish();
  assert.deepEqual(bodies(await rest), ['quick hung']);
  await released;
});

test('closing does not wait for it for ever', async () => {
  const it = await listen();
  const rest = readAll(await openHung(it));
  await it.held.release(50);
  assert.equal(await rest, '');
  it.finish();
});

/** Time goes by until a promise is settled. */
function whileTimePasses<T>({ clock }: { clock: HandClock }, wanted: Promise<T>): Promise<T> {
  const passing = setInterval(() => clock.pass(500), 1);
  return wanted.finally(() => clearInterval(passing));
}

test('between two requests a connection is kept so long, and in one it is not cut', async () => {
  await using it = await listen();
  const busy = await openHung(it);
  const idle = await open(it.port);
  const before = it.clock.steady();
  await whileTimePasses(it, once(idle.resume(), 'close'));
  assert.ok(it.clock.steady() - before >= listenLimits.keepAliveMs);
  const rest = readAll(busy);
  it.finish();
  busy.write(last);
  assert.match(await rest, /quick hung/);
});

test('half a request is cut in time: a head, and a body that was waited for', async () => {
  await using it = await listen();
  const { headersMs, requestMs } = listenLimits;
  for (const [half, ms] of [
    ['POST /web', headersMs],
    [requestOf('a').slice(0, -3), requestMs],
  ] as const) {
    const socket = await open(it.port);
    const rest = readAll(socket);
    const before = it.clock.steady();
    socket.write(half);
    assert.equal(answersOf(await whileTimePasses(it, rest))[0]?.status, 408);
    assert.ok(it.clock.steady() - before >= ms);
  }
});

test('a body that comes later is waited for, whatever pieces it comes in', async () => {
  using sockets = new ServerSockets();
  await using it = await listen();
  const socket = await open(it.port);
  const server = await sockets.of(socket);
  const text = requestOf('late');
  const body = text.indexOf('\r\n\r\n') + 4;
  for (const cuts of [[body], [body + 1, body + 2], [body + 5, text.length - 1]]) {
    const pieces = [0, ...cuts].map((from, at) => text.slice(from, cuts[at]));
    for (const piece of pieces.slice(0, -1)) {
      const before = server.bytesRead;
      socket.write(piece);
      await untilRead(server, before + piece.length);
    }
    await answered(socket, pieces.at(-1)!, 'quick late');
  }
  // Bytes behind it are another request's: node:http has the connection from here on.
  const before = server.bytesRead;
  socket.write(text.slice(0, body));
  await untilRead(server, before + body);
  const rest = readAll(socket);
  socket.write(text.slice(body) + last);
  assert.deepEqual(bodies(await rest), ['node late', 'node']);
});

test('a client that ends its side in the midst of a request gets 400', async () => {
  await using it = await listen();
  for (const half of ['POST /web', requestOf('a').slice(0, -3)]) {
    const socket = await open(it.port);
    const rest = readAll(socket);
    socket.end(half);
    assert.equal(answersOf(await rest)[0]?.status, 400);
  }
});

test('what a quick handler throws ends its connection and no other', async () => {
  await using it = await listen();
  const another = await open(it.port);
  for (const text of ['thrown', 'rejected']) {
    const socket = await open(it.port);
    const rest = readAll(socket);
    socket.write(requestOf(text));
    assert.equal(await rest, '');
  }
  assert.deepEqual(
    it.faults.map((error) => (error as Error).message),
    ['thrown', 'rejected'],
  );
  await answered(another, requestOf('b'), 'quick b');
  another.destroy();
});

test('a client that ends its side gets its answer, one that goes away costs nothing', async () => {
  await using it = await listen();
  const socket = await open(it.port);
  const rest = readAll(socket);
  socket.end(requestOf('a'));
  assert.deepEqual(bodies(await rest), ['quick a']);
  const hung = await openHung(it);
  hung.resetAndDestroy();
  const another = await open(it.port);
  while (it.listeners.connections > 1) await answered(another, requestOf('b'), 'quick b');
  it.finish();
  await answered(another, requestOf('c'), 'quick c');
  another.destroy();
});
