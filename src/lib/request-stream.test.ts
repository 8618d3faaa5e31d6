import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { answersOf, readAll } from '../../test/fake/webhook.ts';
import { runs } from '../../test/support/runs.ts';
import { patienceMs } from '../../test/support/waiting.ts';
import { createListeners, type Handler } from './listener.ts';
import { unansweredMax } from './connection.ts';

async function listen(handler: Handler) {
  const held = await createListeners({ headersMs: patienceMs, requestMs: patienceMs }).take({
    host: '127.0.0.1',
    port: 0,
  });
  assert.ok(held.kind === 'held');
  held.answer(handler);
  return { port: held.port, [Symbol.asyncDispose]: () => held.release(0) };
}

const keep = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const close = keep.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

test('a long row of requests is answered, as long as not too many are unanswered', async () => {
  let waiting: ServerResponse[] = [];
  let begun = 0;
  await using it = await listen((_request, response) => {
    waiting.push(response);
    begun++;
    if (waiting.length < unansweredMax && begun < 500) return;
    for (const one of waiting) one.end('here');
    waiting = [];
  });
  const socket = connect(it.port, '127.0.0.1');
  socket.write(keep.repeat(499) + close);
  assert.equal(answersOf(await readAll(socket)).length, 500);
});

test('a long row of requests with bodies is answered, one after the other', async () => {
  await using it = await listen(async (request, response) => {
    await once(request.resume(), 'end');
    await setImmediate();
    response.end('here');
  });
  for (const parts of [['text'], ['some', '\r\n\r\n', 'text']]) {
    const [one, other] = [false, true].map((chunked) => textOf({ chunked, parts }));
    const socket = connect(it.port, '127.0.0.1');
    socket.write(one!.repeat(400) + other!.repeat(10) + one!.repeat(400) + close);
    assert.equal(answersOf(await readAll(socket)).length, 811);
  }
});

test('one request more than may be unanswered closes its connection, and no other', async () => {
  let begun = 0;
  await using it = await listen((request, response) => {
    if (request.url === '/here') response.end('here');
    else begun++;
  });
  const another = connect(it.port, '127.0.0.1');
  another.write(keep.replace('/', '/here'));
  await once(another, 'data');
  for (const text of [keep.repeat(unansweredMax + 1), keep.repeat(2_000)]) {
    begun = 0;
    const socket = connect(it.port, '127.0.0.1');
    socket.write(text);
    assert.equal(await readAll(socket), '');
    assert.equal(begun, unansweredMax);
  }
  const rest = readAll(another);
  another.write(close.replace('/', '/here'));
  assert.equal(answersOf(await rest)[0]?.body, 'here');
});

/** Node pauses its stream while a client takes no answers, and asserts that no bytes come then. */
test('who takes no answer is given no more than its connection holds', async () => {
  const body = Buffer.alloc(200_000);
  let begun = 0;
  const full = Promise.withResolvers<void>();
  await using it = await listen((_request, response) => {
    begun++;
    response.end(body);
    if (response.writableNeedDrain || response.socket?.writableNeedDrain === true) full.resolve();
  });
  const socket = connect(it.port, '127.0.0.1');
  socket.pause();
  socket.write(keep.repeat(999) + close);
  await full.promise;
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  const most = begun;
  assert.ok(most < 500, `${most} of 1,000 were begun`);
  const answers = answersOf(await readAll(socket));
  assert.ok(answers.length >= most, 'what was begun is answered');
});

test('what was pipelined waits while another connection is answered', async () => {
  let pipelined = 0;
  const first = Promise.withResolvers<number>();
  await using it = await listen((request, response) => {
    if (request.url === '/probe') first.resolve(pipelined);
    else pipelined++;
    response.end('here');
  });
  const flood = Array.from({ length: 40 }, () => connect(it.port, '127.0.0.1'));
  const probe = connect(it.port, '127.0.0.1');
  await Promise.all(
    [...flood, probe].map((one) => new Promise((resolve) => one.once('connect', resolve))),
  );
  const ends = flood.map((one) => readAll(one));
  for (const one of flood) one.write(keep.repeat(900) + close);
  probe.write(close.replace('GET /', 'GET /probe'));
  const before = await first.promise;
  assert.ok(before < 18_000, `${before} of 36,040 came before`);
  for (const end of ends) assert.equal(answersOf(await end).length, 901);
});

test('dear requests leave turns of the event loop to others', async () => {
  let [turns, begun] = [0, 0];
  await using it = await listen((request, response) => {
    if (request.url === '/dear') {
      begun++;
      for (const end = performance.now() + 3; performance.now() < end;);
    }
    response.end('here');
  });
  const sockets = Array.from({ length: 50 }, () => connect(it.port, '127.0.0.1'));
  // The listener accepts one connection per turn, so each must be there before.
  for (const one of sockets) one.write(keep);
  await Promise.all(sockets.map((one) => once(one, 'data')));
  const ends = sockets.map((one) => readAll(one));
  for (const one of sockets) one.write(close.replace('/', '/dear'));
  for (; begun < sockets.length; turns++) await setImmediate();
  assert.ok(turns >= 20, `${turns} turns for 50 requests`);
  await Promise.all(ends);
});

const bodies = fc.array(
  fc.record({
    chunked: fc.boolean(),
    parts: fc.array(fc.constantFrom('a', '\r\n', '\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', '0\r\n'), {
      maxLength: 6,
    }),
  }),
  { minLength: 1, maxLength: 40 },
);

type Sent = { readonly chunked: boolean; readonly parts: readonly string[] };

function textOf({ chunked, parts }: Sent): string {
  const head = 'POST / HTTP/1.1\r\nHost: x\r\n';
  if (!chunked) {
    const body = parts.join('');
    return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  }
  const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}

test('however requests are cut and pipelined, each comes with its own body', async () => {
  await using it = await listen((request, response) => {
    let text = '';
    request.setEncoding('latin1').on('data', (part: string) => (text += part));
    request.on('end', () => response.end(text));
  });
  await fc.assert(
    fc.asyncProperty(bodies, fc.array(fc.nat(4_000)), async (sent, cuts) => {
      const text = sent.map((one) => textOf(one)).join('') + close;
      const places = [...new Set(cuts.filter((cut) => cut < text.length))].toSorted(
        (a, b) => a - b,
      );
      const socket = connect(it.port, '127.0.0.1').setNoDelay(true);
      const came = readAll(socket);
      let at = 0;
      for (const place of [...places, text.length]) {
        socket.write(text.slice(at, place), 'latin1');
        at = place;
        await setImmediate();
      }
      const answered = answersOf(await came).map(({ body }) => body);
      assert.deepEqual(answered, [...sent.map(({ parts }) => parts.join('')), '']);
    }),
    { numRuns: runs(100) },
  );
});
