import assert from 'node:assert/strict';
import { request, type RequestListener, type ServerResponse } from 'node:http';
import { once as event } from 'node:events';
import { connect, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ServerSockets, untilRead } from '../../test/fake/server-sockets.ts';
import { answersOf, exchange, readAll, type Answer } from '../../test/fake/webhook.ts';
import { handClock, type HandClock } from '../../test/support/hand-clock.ts';
import { freePort } from '../../test/support/program.ts';
import { patienceMs, within } from '../../test/support/waiting.ts';
import { unansweredMax } from './connection.ts';
import {
  createListeners,
  listenLimits,
  type ListenerHandle,
  type ListenFault,
  type ListenLimits,
} from './listener.ts';

const local = { host: '127.0.0.1', port: 0 };
const say =
  (text: string): RequestListener =>
  (_request, response) => {
    response.end(text);
  };
/** A request whose body has not come whole. */
const half = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc';
const get = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const keep = get.replace('close', 'keep-alive');

function assertHeld(taken: ListenerHandle | ListenFault): asserts taken is ListenerHandle {
  assert.equal(taken.kind, 'held');
}

type Bound = AsyncDisposable & { held: ListenerHandle; port: number; clock: HandClock };

/** With a clock that stands still until a test moves it. */
async function bind(limits: Partial<ListenLimits> = {}): Promise<Bound> {
  const clock = handClock();
  const held = await createListeners(limits, clock).take(local);
  assertHeld(held);
  return { held, port: held.port, clock, [Symbol.asyncDispose]: () => held.release(0) };
}

/** Lets half a second pass. Resolves when everything that is due by then has run. */
async function passHalfASecond({ clock }: Bound): Promise<void> {
  clock.pass(500);
  await new Promise<void>((acted) => clock.deadlines.after(0, acted));
}

/**
 * Lets time pass until the promise settles.
 * @param what names the promise if it does not settle
 */
async function passUntil<T>(bound: Bound, what: string, promise: Promise<T>): Promise<T> {
  const settled = within(what, promise);
  const isSettled = settled.then(() => true);
  const isNot = (): false => false;
  while (!(await Promise.race([isSettled, passHalfASecond(bound).then(isNot)])));
  return settled;
}

test('before the first handler the answer is 503, then the newest handler answers', async () => {
  await using bound = await bind();
  assert.equal((await exchange(bound.port, get))[0]?.status, 503);
  for (const text of ['one', 'two']) {
    bound.held.answer(say(text));
    assert.equal((await exchange(bound.port, get))[0]?.body, text);
  }
});

test('an address is shared, and closes with the last to let go', async () => {
  const listeners = createListeners();
  const address = { host: '127.0.0.1', port: await freePort() };
  const [one, two] = await Promise.all([listeners.take(address), listeners.take(address)]);
  assertHeld(one);
  assertHeld(two);
  one.answer(say('shared'));
  await one.release(0);
  await one.release(0);
  assert.equal((await exchange(address.port, get))[0]?.body, 'shared');
  await two.release(0);
  await assert.rejects(once(address.port), { code: 'ECONNREFUSED' });
  const again = await listeners.take(address);
  assertHeld(again);
  await again.release(0);
});

test('users of one address answer at their own paths, and the newest one at all others', async () => {
  const listeners = createListeners();
  const address = { host: '127.0.0.1', port: await freePort() };
  const taken = async (text: string, path: string): Promise<ListenerHandle> => {
    const held = await listeners.take(address);
    assertHeld(held);
    held.answer(say(text), path);
    return held;
  };
  const ask = async (...paths: string[]): Promise<(string | undefined)[]> => {
    const asked = paths.map((path) => exchange(address.port, get.replace('/', path)));
    return (await Promise.all(asked)).map(([answer]) => answer?.body);
  };
  const a = await taken('a', '/a');
  assert.deepEqual(await ask('/a', '/none'), ['a', 'a'], 'alone it answers at every path');
  const b = await taken('b', '/b');
  const all = ['/a', '/a?x=1', 'http://svc.test/a', '/b', '/none'] as const;
  assert.deepEqual(await ask(...all), ['a', 'a', 'a', 'b', 'b']);
  const newA = await taken('new a', '/a');
  await a.release(0);
  assert.deepEqual(await ask('/a', '/b', '/none'), ['new a', 'b', 'new a']);
  await newA.release(0);
  assert.deepEqual(await ask('/a', '/b', '/none'), ['b', 'b', 'b'], 'a path that left is none');
  await b.release(0);
  assert.deepEqual(await ask('/b'), [undefined]);
});

test('users that leave together answer on open connections, each at its path', async () => {
  using sockets = new ServerSockets();
  const address = { host: '127.0.0.1', port: await freePort() };
  const listeners = createListeners({}, handClock());
  const users: ListenerHandle[] = [];
  for (const path of ['/a', '/b']) {
    const held = await listeners.take(address);
    assertHeld(held);
    held.answer(say(`${path} closes`), path);
    users.push(held);
  }
  const socket = connect(address.port, address.host);
  await event(socket, 'connect');
  const asked = get.replace('/', '/a');
  const begun = asked.slice(0, 12);
  socket.write(begun);
  await untilRead(await sockets.of(socket), begun.length);
  const released = users.map((one) => one.release(patienceMs));
  socket.write(asked.slice(begun.length));
  const answers = answersOf(await readAll(socket));
  assert.deepEqual(
    answers.map(({ body }) => body),
    ['/a closes'],
  );
  await Promise.all(released);
});

test('an address that is taken alone is shared with nobody, whoever comes first', async () => {
  const listeners = createListeners();
  const address = { host: '127.0.0.1', port: await freePort() };
  const alone = await listeners.takeAlone(address);
  assertHeld(alone);
  alone.answer(say('alone'));
  assert.deepEqual(
    listeners.places.map(({ port }) => port),
    [address.port],
  );
  assert.deepEqual(await listeners.take(address), { kind: 'fault', code: 'EADDRINUSE' });
  assert.deepEqual(await listeners.takeAlone(address), { kind: 'fault', code: 'EADDRINUSE' });
  assert.equal((await exchange(address.port, get))[0]?.body, 'alone');
  await alone.release(0);
  assert.deepEqual(listeners.places, []);
  const shared = await listeners.take(address);
  assertHeld(shared);
  assert.equal((await listeners.takeAlone(address)).kind, 'fault');
  await shared.release(0);
});

function once(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => socket.destroy());
    socket.once('close', () => resolve('closed'));
  });
}

test('port 0 is always a new listener', async () => {
  const listeners = createListeners();
  const [one, two] = [await listeners.take(local), await listeners.take(local)];
  assertHeld(one);
  assertHeld(two);
  assert.notEqual(one.port, two.port);
  await Promise.all([one.release(0), two.release(0)]);
});

test('an address that is taken, or that is not ours, is a fault', async () => {
  await using bound = await bind();
  const listeners = createListeners();
  const taken = { host: '127.0.0.1', port: bound.port };
  const fault = { kind: 'fault', code: 'EADDRINUSE' };
  assert.deepEqual(await Promise.all([listeners.take(taken), listeners.take(taken)]), [
    fault,
    fault,
  ]);
  const elsewhere = await listeners.take({ host: '192.0.2.1', port: 0 });
  assert.deepEqual(elsewhere, { kind: 'fault', code: 'EADDRNOTAVAIL' });
});

test('names and every interface can be bound', async () => {
  // A busy machine may see a connection so late that the client would try another address.
  setDefaultAutoSelectFamilyAttemptTimeout(patienceMs);
  for (const host of ['localhost', '']) {
    const held = await createListeners().take({ host, port: 0 });
    assertHeld(held);
    held.answer(say('here'));
    const text = await fetchText(`http://localhost:${held.port}/`);
    assert.equal(text, 'here');
    await held.release(0);
  }
});

function fetchText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false }, (response) => {
      let text = '';
      response.on('data', (part: Buffer) => (text += part.toString()));
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject).end();
  });
}

test('a handler that is replaced under load loses no request', async () => {
  await using bound = await bind();
  bound.held.answer(say('0'));
  let swaps = 0;
  let swapping: NodeJS.Immediate;
  const swap = (): void => {
    bound.held.answer(say(String(++swaps)));
    swapping = globalThis.setImmediate(swap);
  };
  swap();
  const bodies = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = connect(bound.port, '127.0.0.1');
      socket.write(keep.repeat(199) + get);
      return answersOf(await readAll(socket));
    }),
  );
  clearImmediate(swapping!);
  const answers = bodies.flat();
  assert.equal(answers.filter(({ status }) => status === 200).length, 1_600);
  assert.ok(new Set(answers.map(({ body }) => body)).size > 1, 'it was replaced under load');
});

/**
 * All answers to a text that is sent on one connection. Time passes once the server has read all of
 * it: a reset answers bytes that are unread when a connection closes.
 */
async function answersInTime(bound: Bound, text: string): Promise<Answer[]> {
  using sockets = new ServerSockets();
  const socket = connect(bound.port, '127.0.0.1');
  await event(socket, 'connect');
  const server = await sockets.of(socket);
  const answers = readAll(socket);
  socket.write(text);
  await untilRead(server, text.length);
  return answersOf(await passUntil(bound, 'the end of the connection', answers));
}

test('slow headers are cut with 408, and so is who sends nothing', async () => {
  await using bound = await bind();
  bound.held.answer(say('here'));
  for (const sent of ['', 'GET / HT', get.slice(0, -1)]) {
    const before = bound.clock.steady();
    const [answer] = await answersInTime(bound, sent);
    assert.equal(answer?.status, 408);
    assert.match(answer?.body ?? '', /"code":"request_timeout"/);
    assert.ok(bound.clock.steady() - before >= listenLimits.headersMs);
  }
});

test('a byte now and then is no reason to wait longer for a head', async () => {
  await using bound = await bind();
  bound.held.answer(say('here'));
  const socket = connect(bound.port, '127.0.0.1');
  const closed = readAll(socket);
  socket.write('GET / HTTP/1.1\r\nx: ');
  const drip = (): void => {
    if (socket.writable) socket.write('x');
    if (!socket.closed) bound.clock.deadlines.after(250, drip);
  };
  drip();
  await passUntil(bound, 'the end of the connection', closed);
});

test('a body that does not come in time is cut with 408', async () => {
  await using bound = await bind();
  bound.held.answer((incoming) => void incoming.resume());
  const before = bound.clock.steady();
  assert.equal((await answersInTime(bound, half))[0]?.status, 408);
  assert.ok(bound.clock.steady() - before >= listenLimits.requestMs);
});

test('between two requests a connection is kept for 65 s', async () => {
  await using bound = await bind();
  bound.held.answer(say('here'));
  const before = bound.clock.steady();
  const answers = await answersInTime(bound, keep);
  assert.equal(answers[0]?.body, 'here');
  assert.ok(bound.clock.steady() - before >= listenLimits.keepAliveMs);
});

test('an empty line begins no request, wherever it comes', async () => {
  using sockets = new ServerSockets();
  await using bound = await bind();
  bound.held.answer((incoming, response) => {
    const ms = incoming.url === '/late' ? 2 * listenLimits.keepAliveMs : 0;
    bound.clock.deadlines.after(ms, () => response.end('here'));
  });
  const late = keep.replace('/', '/late');
  for (const more of [`\r\n${get}`, `\r\n\r\n\r\n${get}`]) {
    assert.equal((await answersInTime(bound, late + more)).length, 2);
  }
  assert.equal((await answersInTime(bound, `${late}\r\n\r\n`)).length, 1);

  const socket = connect(bound.port, '127.0.0.1');
  await event(socket, 'connect');
  const server = await sockets.of(socket);
  const all = readAll(socket);
  for (const [sent, passed] of [
    [keep, 0],
    ['\r\n\r\n', 60_000],
    [keep, 0],
    ['\r\n', 0],
  ] as const) {
    const before = server.bytesRead;
    socket.write(sent);
    await untilRead(server, before + sent.length);
    for (let ms = 0; ms < passed; ms += 500) await passHalfASecond(bound);
  }
  // The connection is idle, so it closes at once.
  const released = bound.held.release(patienceMs);
  assert.equal(answersOf(await all).length, 2);
  await released;
});

test('what was asked is answered, whatever comes behind it', async () => {
  using sockets = new ServerSockets();
  await using bound = await bind();
  let begun = Promise.withResolvers<ServerResponse>();
  bound.held.answer((incoming, response) => {
    incoming.resume().once('end', () => begun.resolve(response));
  });
  for (const [sent, ends] of [
    [keep, true],
    [keep.replace('GET', 'POST'), true],
    [`${keep}GET / HT`, true],
    [keep + half, true],
    [`${keep}\0 nonsense`, true],
    [`${keep}\0 nonsense`, false],
    [get + keep, false],
    [half.replace('9', '1'), false],
    [`${keep}\0 nonsense\r\n\r\n${keep.repeat(100)}`, true],
  ] as const) {
    begun = Promise.withResolvers();
    const socket = connect(bound.port, '127.0.0.1');
    await event(socket, 'connect');
    const server = await sockets.of(socket);
    const all = readAll(socket);
    if (ends) socket.end(sent);
    else socket.write(sent);
    const response = await begun.promise;
    await untilRead(server, sent.length);
    if (ends) while (!server.readableEnded) await setImmediate();
    // More bytes that nobody reads.
    else socket.write('more');
    response.end('here');
    const [answer, ...refusals] = answersOf(await all);
    assert.equal(answer?.body, 'here', JSON.stringify(sent));
    if (sent === keep) assert.equal(answer?.headers.get('connection'), 'close');
    // The server may refuse the bytes after the answer.
    assert.ok(refusals.length <= 1 && refusals.every(({ status }) => status === 400));
  }
});

test('of what cannot be read little is taken while an answer is made', async () => {
  using sockets = new ServerSockets();
  await using bound = await bind();
  const begun = Promise.withResolvers<ServerResponse>();
  bound.held.answer((_request, response) => begun.resolve(response));
  const socket = connect(bound.port, '127.0.0.1');
  await event(socket, 'connect');
  const server = await sockets.of(socket);
  socket.on('error', () => {}).write(`${keep}\0`);
  socket.write(Buffer.alloc(32 * 1024 * 1024));
  const response = await begun.promise;
  // Each turn of the event loop could read 64 KiB.
  for (let turn = 0; turn < 500; turn++) await setImmediate();
  assert.ok(server.bytesRead < 1024 * 1024, `${server.bytesRead} bytes`);
  const all = readAll(socket);
  response.end('here');
  assert.equal(answersOf(await all)[0]?.body, 'here');
});

test('once the other side has ended, an answer is not waited for long', async () => {
  await using bound = await bind();
  bound.held.answer(() => {});
  for (const more of ['', '\0 nonsense']) {
    const socket = connect({ port: bound.port, host: '127.0.0.1', allowHalfOpen: true });
    const all = readAll(socket);
    const before = bound.clock.steady();
    socket.end(keep + more);
    assert.equal(await passUntil(bound, 'the end of the connection', all), '');
    assert.ok(bound.clock.steady() - before >= listenLimits.halfClosedMs);
  }
});

test('each answer counts, also one that no handler makes', async () => {
  await using bound = await bind();
  const asked: unknown[] = [];
  bound.held.answer(({ headers }, response) => {
    asked.push(headers.expect);
    if (headers.expect !== undefined) response.end('here');
  });
  const nameless = get.replace('Host: x\r\n', '');
  const [refused] = await exchange(bound.port, nameless.replace('close', 'keep-alive'));
  assert.equal(refused?.status, 400);
  assert.match(refused?.body ?? '', /"code":"bad_request"/);
  assert.deepEqual(asked, []);
  const old = connect(bound.port, '127.0.0.1');
  old.write('GET / HTTP/1.0\r\nExpect: x\r\n\r\n');
  assert.match(await readAll(old), /^HTTP\/1\.1 200 [^]*here$/);
  // An expectation other than 100-continue has no effect.
  const expecting = get.replace('Host', 'Expect: x\r\nHost');
  assert.equal((await exchange(bound.port, expecting))[0]?.body, 'here');
  for (const one of [nameless, expecting]) {
    const text = keep + one.replace('close', 'keep-alive').repeat(unansweredMax);
    assert.deepEqual(await exchange(bound.port, text), []);
  }
});

test('an answer that is long in the making is waited for', async () => {
  await using bound = await bind();
  bound.held.answer((_request, response) => {
    bound.clock.deadlines.after(2 * listenLimits.keepAliveMs, () => response.end('late'));
  });
  assert.equal((await answersInTime(bound, get))[0]?.body, 'late');
});

test('an answer of which nothing is taken for a while ends its connection', async () => {
  using sockets = new ServerSockets();
  await using bound = await bind({ untakenMs: 50 });
  const large = Buffer.alloc(32 * 1024 * 1024);
  bound.held.answer((_request, response) => void response.end(large));
  const socket = connect(bound.port, '127.0.0.1');
  await event(socket, 'connect');
  const server = await sockets.of(socket);
  socket.write(get);
  await passUntil(bound, 'the end of the connection', event(server, 'close'));
  socket.destroy();
});

test('what a handler throws, or rejects, ends its connection and no other', async () => {
  const faults: unknown[] = [];
  const fault = (error: unknown): void => void faults.push(error);
  const held = await createListeners({}, { fault }).take(local);
  assertHeld(held);
  held.answer((incoming, response) => {
    if (incoming.url === '/throw') throw new Error('thrown');
    if (incoming.url === '/reject') return Promise.reject(new Error('rejected'));
    return void response.end('here');
  });
  const another = connect(held.port, '127.0.0.1');
  another.write(keep);
  await event(another, 'data');
  for (const path of ['/throw', '/reject']) {
    assert.deepEqual(await exchange(held.port, get.replace('/', path)), []);
  }
  assert.deepEqual(
    faults.map((error) => (error as Error).message),
    ['thrown', 'rejected'],
  );
  const rest = readAll(another);
  another.write(get);
  assert.equal(answersOf(await rest)[0]?.body, 'here');
  await held.release(0);
});

test('the limits are 5 s for a head, 10 s for a request, 16 KiB and 1,024 connections', () => {
  const { headersMs, requestMs, headerBytesMax, connectionsMax } = listenLimits;
  assert.deepEqual([headersMs, requestMs], [5_000, 10_000]);
  assert.deepEqual([headerBytesMax, connectionsMax], [16_384, 1_024]);
});

test('what is no HTTP gets 400, a head over 16 KiB 431', async () => {
  await using bound = await bind();
  bound.held.answer(say('here'));
  const [garbage] = await exchange(bound.port, '\x00\x01\x02 nonsense\r\n\r\n');
  assert.equal(garbage?.status, 400);
  assert.match(garbage?.body ?? '', /"code":"bad_request"/);
  const large = `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`;
  assert.equal((await exchange(bound.port, large))[0]?.status, 431);
});

test('what is broken is answered only where nobody takes that for another answer', async () => {
  await using bound = await bind();
  bound.held.answer((incoming, response) => {
    if (incoming.url === '/stream') response.write('begun');
  });
  const [broken] = await exchange(bound.port, half.replace('9', 'nine'));
  assert.equal(broken?.status, 400);
  for (const [sent, heads] of [
    [half, 1],
    [keep.replace('/', '/stream') + half, 1],
  ] as const) {
    const socket = connect(bound.port, '127.0.0.1');
    const text = readAll(socket);
    socket.end(sent);
    const all = await passUntil(bound, 'the end of the connection', text);
    assert.equal(all.split('HTTP/1.1').length - 1, heads, JSON.stringify(sent));
  }
});

test('a client that ends its side gets its answer, or 400 in the midst of a request', async () => {
  await using bound = await bind();
  bound.held.answer((incoming, response) => {
    incoming.resume().once('end', () => response.end('here'));
  });
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc';
  for (const [sent, status] of [
    [post, 200],
    [post.slice(0, 9), 400],
    [post.slice(0, -2), 400],
  ] as const) {
    const socket = connect({ port: bound.port, host: '127.0.0.1', allowHalfOpen: true });
    const rest = readAll(socket);
    socket.end(sent);
    assert.equal(answersOf(await rest)[0]?.status, status, sent);
  }
});

test('a client that goes away while its answer is made leaves nothing', async () => {
  const listeners = createListeners();
  const held = await listeners.take(local);
  assertHeld(held);
  const asked = Promise.withResolvers<ServerResponse>();
  held.answer((incoming, response) => {
    if (incoming.url === '/hung') asked.resolve(response);
    else response.end('here');
  });
  const gone = connect(held.port, '127.0.0.1');
  gone.on('error', () => {}).write(get.replace('/', '/hung'));
  const response = await asked.promise;
  gone.resetAndDestroy();
  await event(response, 'close');
  response.end('to nobody');
  assert.equal((await exchange(held.port, get))[0]?.body, 'here');
  await held.release(0);
  assert.equal(listeners.connections, 0);
});

test('release closes what is idle at once', async () => {
  await using bound = await bind();
  const begun = Promise.withResolvers<ServerResponse>();
  bound.held.answer((incoming, response) => {
    if (incoming.url === '/slow') begun.resolve(response);
    else response.end('here');
  });
  const idle = connect(bound.port, '127.0.0.1');
  idle.write(keep);
  await event(idle, 'data');
  const closed = event(idle, 'close');
  const answers = exchange(bound.port, get.replace('/', '/slow'));
  const response = await begun.promise;
  const released = bound.held.release(patienceMs);
  await closed;
  response.end('late');
  assert.equal((await answers)[0]?.body, 'late');
  await released;
});

test('release waits for the answer under way, but not for ever', async () => {
  const slow = await bind();
  const begun = new Promise<ServerResponse>((resolve) => {
    slow.held.answer((_request, response) => resolve(response));
  });
  const answers = exchange(slow.port, keep);
  const response = await begun;
  const released = slow.held.release(patienceMs);
  response.end('late');
  assert.equal((await answers)[0]?.body, 'late');
  await released;

  const hung = await bind();
  const stuck = new Promise<void>((resolve) => hung.held.answer(() => resolve()));
  const socket = connect(hung.port, '127.0.0.1');
  socket.write(get);
  const cut = readAll(socket);
  await stuck;
  await hung.held.release(1);
  assert.equal(await cut, '');
});
