/** A service that takes a question and says nothing is given up, with a word on what to look at. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ask } from './api.ts';

/** A page asks where it came from; here that is a server that never answers. */
async function silent(): Promise<AsyncDisposable> {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { fetch } = globalThis;
  globalThis.fetch = (path, how) => fetch(new URL(path as string, origin), how);
  return {
    async [Symbol.asyncDispose]() {
      globalThis.fetch = fetch;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('what is not answered in its time is given up', { timeout: 60_000 }, async () => {
  await using _service = await silent();
  const answer = await ask('config', { limitMs: 100 });
  assert.ok(answer.kind === 'refused');
  assert.deepEqual([answer.status, answer.code], [0, 'too_slow']);
  assert.match(answer.detail, /within 100 ms\. Look on its machine/);
});

test('who leaves first has given up', { timeout: 60_000 }, async () => {
  await using _service = await silent();
  const leaving = new AbortController();
  const asked = ask('config', { signal: leaving.signal });
  leaving.abort();
  const answer = await asked;
  assert.ok(answer.kind === 'refused');
  assert.equal(answer.code, 'given_up');
});
