/** The `heard` function of a request throws, on either kind of connection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { createHttpClient } from '../http-client.ts';

for (const plain of [true, false]) {
  const kind = plain ? 'a connection of our own' : 'undici';
  test(`what hears a body by ${kind} may throw, and its call alone rejects`, async () => {
    const server = createServer((_request, response) => void response.end('body'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const clock = handClock();
    const client = createHttpClient(clock.deadlines, { connectMs: patienceMs, plain });
    const request = {
      method: 'GET' as const,
      url: new URL(`http://127.0.0.1:${port}/`),
      headers: {},
      body: null,
      deadlineAt: clock.in(5_000),
      bodyBytesMax: 100,
    };
    const bug = new Error('a bug');
    const heard = (): void => {
      throw bug;
    };
    await assert.rejects(client.send({ ...request, heard }), bug);
    assert.equal(clock.deadlines.size, 0, 'no deadline is left behind');
    const next = await client.send(request);
    assert.ok(next.kind === 'answer' && next.body === 'body');
    await client.close();
    server.close();
    await once(server, 'close');
  });
}
