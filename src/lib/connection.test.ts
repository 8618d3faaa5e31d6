import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { answersOf, exchange, readAll } from '../../test/fake/webhook.ts';
import { handClock } from '../../test/support/hand-clock.ts';
import { patienceMs } from '../../test/support/waiting.ts';
import { createListeners, type Handler, type ListenLimits } from './listener.ts';

const keep = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const close = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

/**
 * `/right` brings a right bearer token, `/wrong` a wrong one, `/missing` none; `/hung` has no
 * answer.
 */
const handle: Handler = (request, response, peer) => {
  const path = request.url ?? '';
  const say = (): void => {
    response.statusCode = path === '/wrong' ? 401 : 200;
    response.end(path);
  };
  if (path === '/hung') return;
  if (path === '/right') peer.known(response);
  if (path === '/wrong' || path === '/missing')
    peer.turnAway(path.slice(1) as 'wrong', response, say);
  else say();
};

async function listen(limits: Partial<ListenLimits> = {}) {
  const clock = handClock();
  const patient = { headersMs: patienceMs, requestMs: patienceMs, ...limits };
  let dropped = 0;
  const deps = { ...clock, dropped: () => void dropped++ };
  const held = await createListeners(patient, deps).take({ host: '127.0.0.1', port: 0 });
  assert.ok(held.kind === 'held');
  held.answer(handle);
  const { port } = held;
  return { clock, port, dropped: () => dropped, [Symbol.asyncDispose]: () => held.release(0) };
}

/** A connection that stays open, after its first answer has come. */
async function open(
  port: number,
  path: string,
): Promise<{ socket: Socket; rest: Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  socket.write(keep(path));
  await new Promise((resolve) => socket.once('data', resolve));
  return { socket, rest: readAll(socket) };
}

test('where there is no room, the stranger that was idle for longest goes', async () => {
  await using it = await listen({ connectionsMax: 3 });
  const known = await open(it.port, '/right');
  const [first, second] = [await open(it.port, '/one'), await open(it.port, '/two')];
  first.socket.write(keep('/again'));
  await new Promise((resolve) => first.socket.once('data', resolve));
  const [answer] = await exchange(it.port, close('/three'));
  assert.equal(answer?.body, '/three');
  assert.equal(await second.rest, '', 'the first was heard of later');
  assert.equal(it.dropped(), 0, 'it missed nothing');
  for (const { socket, rest } of [known, first]) {
    socket.write(close('/still'));
    assert.match(await rest, /\/still$/);
  }
});

test('where no stranger is idle, another idle one goes, then a busy stranger', async () => {
  await using it = await listen({ connectionsMax: 2 });
  const known = await open(it.port, '/right');
  const hung = await open(it.port, '/one');
  hung.socket.write(keep('/hung'));
  const another = connect(it.port, '127.0.0.1');
  another.write(keep('/hung'));
  await known.rest;
  assert.equal((await exchange(it.port, close('/two')))[0]?.body, '/two');
  assert.equal(await hung.rest, '');
  assert.equal(it.dropped(), 1);
  another.destroy();
});

test('who is turned away loses the connection after the answer', async () => {
  await using it = await listen();
  for (const path of ['/missing', '/wrong']) {
    const answers = await exchange(it.port, keep(path));
    assert.deepEqual(
      answers.map(({ headers, body }) => [headers.get('connection'), body]),
      [['close', path]],
    );
  }
});

test('requests of strangers on one connection are limited in number, others are not', async () => {
  await using it = await listen({ strangerRequestsMax: 3 });
  const answers = await exchange(it.port, keep('/a').repeat(5));
  assert.equal(answers.length, 3);
  assert.equal(answers[2]!.headers.get('connection'), 'close');
  const mixed = keep('/right').repeat(20) + keep('/a') + keep('/right').repeat(20) + close('/b');
  const socket = connect(it.port, '127.0.0.1');
  socket.write(mixed);
  assert.equal(answersOf(await readAll(socket)).length, 42);
});

test('wrong bearers wait, and a right one from the same address does not', async () => {
  await using it = await listen({ wrongBearersFree: 1 });
  await exchange(it.port, keep('/wrong'));
  const slowed = exchange(it.port, keep('/wrong'));
  let isAnswered = false;
  void slowed.then(() => (isAnswered = true));
  // The clock stands still: a client that must wait gets no answer.
  for (const path of ['/right', '/missing']) {
    assert.equal((await exchange(it.port, close(path)))[0]?.body, path);
  }
  assert.equal(isAnswered, false);
  it.clock.pass(100);
  const [answer] = await slowed;
  assert.equal(answer?.status, 401);
});
