import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../test/program.ts';
import { answersOf, exchange, readAll } from '../../test/fake/webhook.ts';
import { createListeners, listenLimits } from './listener.ts';
import type { Held, ListenFault, ListenLimits } from './listener.ts';

const local = { host: '127.0.0.1', port: 0 };
const say =
  (text: string): RequestListener =>
  (_request, response) => {
    response.end(text);
  };
const get = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

function assertHeld(taken: Held | ListenFault): asserts taken is Held {
  assert.equal(taken.kind, 'held');
}

type Bound = AsyncDisposable & { held: Held; port: number };

async function bind(limits: Partial<ListenLimits> = {}): Promise<Bound> {
  const held = await createListeners(limits).take(local);
  assertHeld(held);
  return { held, port: held.port, [Symbol.asyncDispose]: () => held.release(200) };
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
  await one.release(100);
  await one.release(100);
  assert.equal((await exchange(address.port, get))[0]?.body, 'shared');
  await two.release(100);
  await assert.rejects(once(address.port), { code: 'ECONNREFUSED' });
  const again = await listeners.take(address);
  assertHeld(again);
  await again.release(100);
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
  await alone.release(100);
  assert.deepEqual(listeners.places, []);
  const shared = await listeners.take(address);
  assertHeld(shared);
  assert.equal((await listeners.takeAlone(address)).kind, 'fault');
  await shared.release(100);
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
  await Promise.all([one.release(100), two.release(100)]);
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
  // A connection that a busy machine sees too late would be given up for another address.
  setDefaultAutoSelectFamilyAttemptTimeout(30_000);
  for (const host of ['localhost', '']) {
    const held = await createListeners().take({ host, port: 0 });
    assertHeld(held);
    held.answer(say('here'));
    const text = await fetchText(`http://localhost:${held.port}/`);
    assert.equal(text, 'here');
    await held.release(100);
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
  const swapping = setInterval(() => bound.held.answer(say(String(++swaps))), 1);
  const bodies = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = connect(bound.port, '127.0.0.1');
      socket.write(get.replace('close', 'keep-alive').repeat(199) + get);
      return answersOf(await readAll(socket)).map((answer) => answer.status);
    }),
  );
  clearInterval(swapping);
  assert.equal(bodies.flat().filter((status) => status === 200).length, 1_600);
});

/**
 * A request that is there when its time is over, and is not read yet, is answered by a reset: its
 * bytes are to be read well within the time.
 */
const limitMs = 1_000;

test('slow headers are cut with 408', async () => {
  await using bound = await bind({ headersMs: limitMs, requestMs: 60_000, checkMs: 20 });
  bound.held.answer(say('here'));
  const silent = readAll(connect(bound.port, '127.0.0.1'));
  const answers = [await exchange(bound.port, 'GET / HT'), answersOf(await silent)];
  for (const [answer] of answers) {
    assert.equal(answer?.status, 408);
    assert.match(answer?.body ?? '', /"code":"request_timeout"/);
  }
});

test('a body that does not come in time is cut with 408', async () => {
  await using bound = await bind({ headersMs: limitMs, requestMs: limitMs, checkMs: 20 });
  bound.held.answer((incoming) => void incoming.resume());
  const slow = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc';
  assert.equal((await exchange(bound.port, slow))[0]?.status, 408);
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

test('release waits for the answer under way, but not for ever', async () => {
  const slow = await bind();
  const begun = new Promise<ServerResponse>((resolve) => {
    slow.held.answer((_request, response) => resolve(response));
  });
  const answers = exchange(slow.port, get.replace('close', 'keep-alive'));
  const response = await begun;
  const released = slow.held.release(5_000);
  response.end('late');
  assert.equal((await answers)[0]?.body, 'late');
  await released;

  const hung = await bind();
  const stuck = new Promise<void>((resolve) => hung.held.answer(() => resolve()));
  const socket = connect(hung.port, '127.0.0.1');
  socket.write(get);
  const cut = readAll(socket);
  await stuck;
  await hung.held.release(50);
  assert.equal(await cut, '');
});
