import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPeersContract } from '../../test/contract/peers.ts';
import { createAlone } from './alone.ts';

testPeersContract('of whom there is one', async () => ({
  peers: createAlone(),
  [Symbol.asyncDispose]: async () => {},
}));

test('who is alone has a post at once, and no share of a bound to give away', () => {
  const peers = createAlone();
  const { signal } = new AbortController();
  let given: AbortSignal | null = null;
  void peers.hold(
    'a',
    async (stop) => {
      given = stop;
    },
    signal,
  );
  assert.equal(given, signal);
  assert.equal(peers.share(), 1);
});
