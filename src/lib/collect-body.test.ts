import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { answersOf, readAll } from '../../test/fake/webhook.ts';
import { collectBody } from './collect-body.ts';
import { createListeners } from './listener.ts';

const head = (more: string): string => `POST / HTTP/1.1\r\nHost: x\r\n${more}\r\n\r\n`;
const expecting = 'Content-Length: 3\r\nExpect: 100-continue\r\nConnection: close';

test('a body is asked for, unless an answer before it is still to come', async () => {
  const first = Promise.withResolvers<ServerResponse>();
  let answered = Promise.withResolvers<void>();
  const held = await createListeners().take({ host: '127.0.0.1', port: 0 });
  assert.ok(held.kind === 'held');
  held.answer(async (request, response) => {
    if (request.method === 'GET') return first.resolve(response);
    const end = await collectBody(request, response, 3);
    // As bytes: Node writes the head of such an answer before all other waiting bytes.
    response.end(end.kind === 'whole' ? end.bytes : Buffer.from(end.kind));
    answered.resolve();
  });
  const alone = connect(held.port, '127.0.0.1');
  alone.write(head(expecting));
  const [interim] = (await once(alone, 'data')) as [Buffer];
  assert.equal(interim.toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
  const rest = readAll(alone);
  alone.write('one');
  assert.equal(answersOf(await rest)[0]?.body, 'one');

  answered = Promise.withResolvers();
  const behind = connect(held.port, '127.0.0.1');
  const all = readAll(behind);
  behind.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${head(expecting)}two`);
  const response = await first.promise;
  await answered.promise;
  response.end(Buffer.from('first'));
  const bodies = answersOf(await all).map(({ body }) => body);
  assert.deepEqual(bodies, ['first', 'two']);

  // A client of HTTP/1.0, or one that expects something else, gets no 100.
  for (const other of [
    head(expecting).replace('1.1', '1.0'),
    head(expecting.replace('100-', '')),
  ]) {
    const socket = connect(held.port, '127.0.0.1');
    socket.write(`${other}abc`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 200 [^]*\r\n\r\nabc$/);
  }
  await held.release(200);
});
