import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peersAlone } from '../../test/fake/peers.ts';
import { testPeersContract } from '../../test/contract/peers.ts';
import { createAlone, Listeners } from './alone.ts';

testPeersContract('of whom there is one', async () => ({
  peers: peersAlone(),
  [Symbol.asyncDispose]: async () => {},
}));

test('who is alone has a lease at once, and no share of a bound to give away', () => {
  const peers = createAlone();
  const { signal } = new AbortController();
  let given: AbortSignal | null = null;
  void peers.withLease(
    'a',
    async (stop) => {
      given = stop;
    },
    signal,
  );
  assert.equal(given, signal);
  assert.equal(peers.limitShare(), 1);
});

test('one that fails keeps no other from hearing it to its end', async () => {
  const ears = new Listeners();
  const heard: string[] = [];
  const done = Promise.withResolvers<void>();
  ears.on('a', () => {
    throw new Error('broken');
  });
  ears.on('a', async (body) => {
    await done.promise;
    heard.push(body);
  });
  const told = ears.notify('a', 'hello');
  void told.catch(() => heard.push('told'));
  await new Promise(setImmediate);
  assert.deepEqual(heard, []);
  done.resolve();
  await assert.rejects(told, /broken/);
  assert.deepEqual(heard, ['hello', 'told']);
});
