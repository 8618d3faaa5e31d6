import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { answersOf, readAll } from '../../test/fake/webhook.ts';
import { runs } from '../../test/runs.ts';
import { createListeners, type Handler } from './listener.ts';
import { unansweredMax } from './paced-reading.ts';

async function listen(handler: Handler) {
  const held = await createListeners({ headersMs: 60_000, requestMs: 60_000 }).take({
    host: '127.0.0.1',
    port: 0,
  });
  assert.ok(held.kind === 'held');
  held.answer(handler);
  return { port: held.port, [Symbol.asyncDispose]: () => held.release(200) };
}

const keep = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const close = keep.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

test('so many requests of a connection are begun, and the rest as answers go out', async () => {
  let waiting: ServerResponse[] = [];
  let most = 0;
  let begun = 0;
  await using it = await listen((_request, response) => {
    waiting.push(response);
    begun++;
    most = Math.max(most, waiting.length);
    if (waiting.length < unansweredMax && begun < 500) return;
    // Those that may be begun too early have come by then.
    setImmediate(() => {
      for (const one of waiting) one.end('here');
      waiting = [];
    });
  });
  const socket = connect(it.port, '127.0.0.1');
  socket.write(keep.repeat(499) + close);
  const answers = answersOf(await readAll(socket));
  assert.equal(answers.length, 500);
  assert.equal(most, unansweredMax);
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
        await new Promise((resolve) => setImmediate(resolve));
      }
      const answered = answersOf(await came).map(({ body }) => body);
      assert.deepEqual(answered, [...sent.map(({ parts }) => parts.join('')), '']);
    }),
    { numRuns: runs(100) },
  );
});
