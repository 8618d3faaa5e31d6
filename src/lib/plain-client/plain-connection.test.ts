/** When a plain connection is used again or closed, and how its requests end. */
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { asPlainSocket, BufferSocket } from '../../../test/chaos/plain-client/memory-socket.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { Connections, Exchange, type HttpResult } from '../http-client/exchange.ts';
import { LoadOnce } from '../load-once.ts';
import { Stopper } from '../stop.ts';
import { plainOpener, writeRequest } from './plain-connection.ts';

const answer = (headers = ''): Buffer =>
  Buffer.from(`HTTP/1.1 200 OK\r\n${headers}Content-Length: 2\r\n\r\nok`);

/** Connections of one origin, over sockets without a network. */
function bench(max = 10) {
  const clock = handClock();
  const sockets: BufferSocket[] = [];
  const undici = new LoadOnce(() => Promise.reject(new Error('nothing here is odd')));
  const url = new URL('http://home.test/');
  const connect = (options: ConstructorParameters<typeof BufferSocket>[0]) => {
    const socket = new BufferSocket(options);
    sockets.push(socket);
    return asPlainSocket(socket);
  };
  const target = { url, nearOnly: false, connectMs: 5_000, connect };
  const all = new Connections(max, plainOpener(undici, target));
  const send = (stop?: Stopper) => {
    const told = Promise.withResolvers<HttpResult>();
    const request = {
      method: 'GET' as const,
      url,
      headers: {},
      body: null,
      deadlineAt: clock.in(60_000),
      bodyBytesMax: 100,
    };
    const exchange = new Exchange(request, stop, told.resolve, told.reject);
    exchange.watch(clock.deadlines);
    exchange.text = writeRequest(request);
    all.take(exchange);
    return told.promise;
  };
  return { all, sockets, send };
}

/** Timers that the test moves, with `refresh` like Node's. */
function handTimers(t: TestContext) {
  let now = 0;
  const timers = new Set<{ at: number }>();
  t.mock.method(globalThis, 'setTimeout', (act: () => void, ms: number) => {
    const timer = {
      at: now + ms,
      act: () => act(),
      unref: () => timer,
      refresh() {
        timer.at = now + ms;
        timers.add(timer);
      },
    };
    timers.add(timer);
    return timer;
  });
  t.mock.method(globalThis, 'clearTimeout', (timer: { at: number }) => timers.delete(timer));
  return (ms: number): void => {
    now += ms;
    for (const timer of timers) {
      if (timer.at > now) continue;
      timers.delete(timer);
      (timer as unknown as { act: () => void }).act();
    }
  };
}

async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await setImmediate();
}

/** Sends one request, and leaves the connection idle. */
async function idle(it: ReturnType<typeof bench>, headers = ''): Promise<BufferSocket> {
  const result = it.send();
  await turns(2);
  const socket = it.sockets.at(-1)!;
  socket.brings(answer(headers));
  assert.equal((await result).kind, 'answer');
  await turns(2);
  return socket;
}

suite('a plain connection', () => {
  for (const [headers, ms] of [
    ['', 4_000],
    ['Keep-Alive: timeout=5\r\n', 3_000],
    ['Keep-Alive: timeout=9\r\n', 7_000],
    ['Keep-Alive: timeout=99999\r\n', 600_000],
  ] as const) {
    test(`is closed when it was idle for ${ms} ms, by its server's word or ours`, async (t) => {
      const pass = handTimers(t);
      const it = bench();
      const socket = await idle(it, headers);
      pass(ms - 1);
      assert.equal(await idle(it, headers), socket, 'it is taken up to then');
      pass(ms - 1);
      assert.equal(socket.destroyed, false, 'its time begins anew with each answer');
      pass(1);
      assert.equal(socket.destroyed, true);
      assert.notEqual(await idle(it, headers), socket);
    });
  }

  test('is closed at once where its server says that it soon will', async () => {
    for (const seconds of [0, 1, 2]) {
      const it = bench();
      const result = it.send();
      await turns(2);
      it.sockets[0]!.brings(answer(`Keep-Alive: timeout=${seconds}\r\n`));
      assert.equal((await result).kind, 'answer');
      assert.equal(it.sockets[0]!.destroyed, true, String(seconds));
    }
  });

  test('is not closed for idleness while it is asked something', async (t) => {
    const pass = handTimers(t);
    const it = bench();
    const socket = await idle(it);
    const result = it.send();
    await turns(2);
    pass(60_000);
    socket.brings(answer());
    assert.equal((await result).kind, 'answer');
  });

  test('has so long to come about', async (t) => {
    const pass = handTimers(t);
    const it = bench();
    const result = it.send();
    pass(5_000);
    const code = 'UND_ERR_CONNECT_TIMEOUT';
    assert.deepEqual(await result, { kind: 'fault', fault: 'connect_timeout', sent: false, code });
    assert.equal(it.sockets[0]?.destroyed, true);
  });

  for (const [what, happens] of [
    ['its end', (socket: BufferSocket) => socket.ends()],
    ['a reset', (socket: BufferSocket) => socket.resets()],
    ['an answer that nobody asked for', (socket: BufferSocket) => socket.brings(answer())],
  ] as const) {
    test(`leaves its request to another one where ${what} comes before it is sent`, async () => {
      const it = bench();
      const socket = await idle(it);
      const { written } = socket;
      const result = it.send();
      happens(socket);
      await turns(3);
      assert.equal(socket.written, written, 'nothing was sent on it');
      assert.equal(it.sockets.length, 2);
      it.sockets[1]!.brings(answer());
      assert.equal((await result).kind, 'answer');
    });

    test(`is closed where ${what} comes while it is idle`, async () => {
      const it = bench();
      const socket = await idle(it);
      happens(socket);
      await turns(2);
      assert.equal(socket.destroyed, true);
      assert.notEqual(await idle(it), socket);
    });
  }

  test('waits after an answer, though a request waits for it', async () => {
    const it = bench(1);
    const [first, second] = [it.send(), it.send()];
    await turns(2);
    const socket = it.sockets[0]!;
    const { written } = socket;
    socket.brings(answer());
    await turns(1);
    socket.brings(answer());
    assert.equal((await first).kind, 'answer');
    await turns(3);
    assert.equal(socket.written, written, 'what came unasked is taken for no answer');
    it.sockets[1]!.brings(answer());
    assert.equal((await second).kind, 'answer');
  });

  test('that breaks off under a request does not send it again', async () => {
    const it = bench();
    const socket = await idle(it);
    const result = it.send();
    await turns(2);
    socket.ends();
    const code = 'UND_ERR_SOCKET';
    assert.deepEqual(await result, { kind: 'fault', fault: 'connection_lost', sent: true, code });
    await turns(3);
    assert.equal(it.sockets.length, 1);
  });

  test('that came about for nobody any more is kept for the next', async () => {
    const it = bench();
    const stopper = new Stopper();
    const result = it.send(stopper);
    stopper.stop();
    assert.deepEqual(await result, { kind: 'fault', fault: 'cancelled', sent: false, code: null });
    await turns(2);
    assert.equal(it.sockets[0]?.written, '');
    await idle(it);
    assert.equal(it.sockets.length, 1);
  });

  test('ends what is under way when all are closed', async () => {
    const it = bench();
    const [connecting, socket] = [it.send(), it.sockets[0]!];
    const closed = it.all.close();
    const code = 'UND_ERR_DESTROYED';
    assert.deepEqual(await connecting, { kind: 'fault', fault: 'cancelled', sent: false, code });
    await closed;
    assert.equal(socket.destroyed, true);
  });
});
