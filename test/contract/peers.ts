/** The contract of every backend of `Peers` towards one instance. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Peers } from '../../src/cluster/backend.ts';

/** An instance on a ledger of its own; both end together. */
export type OpenPeers = () => Promise<AsyncDisposable & { readonly peers: Peers }>;

type Case = (peers: Peers) => Promise<void>;

/** Work that runs until it is stopped, and then until `end` is called. */
function work() {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<void>();
  const run = (stop: AbortSignal): Promise<void> => {
    begun.resolve(stop);
    return end.promise;
  };
  return { run, begun: begun.promise, end: () => end.resolve() };
}

const stopped = (signal: AbortSignal): Promise<unknown> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));

/** Whether it has settled, once all work under way has run. */
async function isOver(it: Promise<unknown>): Promise<boolean> {
  const open = {};
  for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  return (await Promise.race([it.catch(() => {}), Promise.resolve(open)])) !== open;
}

const cases: Readonly<Record<string, Case>> = {
  'what holds a post is stopped with it, and waited for': async (peers) => {
    const until = new AbortController();
    const it = work();
    const held = peers.withLease('a', it.run, until.signal);
    const stop = await it.begun;
    assert.equal(stop.aborted, false);
    until.abort();
    await stopped(stop);
    assert.equal(await isOver(held), false, 'it has not ended yet');
    it.end();
    await held;
  },
  'a post that is not wanted any more is not held': async (peers) => {
    let runs = 0;
    await peers.withLease('a', async () => void runs++, AbortSignal.abort());
    assert.equal(runs, 0);
  },
  'what ends early ends its post, and says how': async (peers) => {
    const { signal } = new AbortController();
    await peers.withLease('a', async () => {}, signal);
    const failing = peers.withLease('a', () => Promise.reject(new Error('broken')), signal);
    await assert.rejects(failing, /broken/);
  },
  'a post is had while it runs': async (peers) => {
    const { signal } = new AbortController();
    let had = false;
    await peers.withLease('a', async () => void (had = peers.holds('a')), signal);
    assert.equal(had, true);
  },
  'posts are held side by side, and one after the other': async (peers) => {
    const until = new AbortController();
    const [one, other, next] = [work(), work(), work()];
    const first = new AbortController();
    const held = peers.withLease('a', one.run, first.signal);
    const beside = peers.withLease('b', other.run, until.signal);
    await Promise.all([one.begun, other.begun]);
    first.abort();
    one.end();
    await held;
    const after = peers.withLease('a', next.run, until.signal);
    assert.equal((await next.begun).aborted, false);
    until.abort();
    other.end();
    next.end();
    await Promise.all([beside, after]);
  },
  'what is told was heard by all who hear that kind': async (peers) => {
    const heard: string[] = [];
    const stops = [
      peers.onBroadcast('a', async (body) => {
        await new Promise(setImmediate);
        heard.push(`slowly ${body}`);
      }),
      peers.onBroadcast('a', (body) => void heard.push(body)),
      peers.onBroadcast('b', (body) => void heard.push(`b: ${body}`)),
    ];
    await peers.broadcast('a', 'one');
    assert.deepEqual(heard.toSorted(), ['one', 'slowly one']);
    stops[0]!();
    await peers.broadcast('a', 'two');
    await peers.broadcast('c', 'nobody hears this');
    assert.deepEqual(heard.slice(2), ['two']);
    for (const stop of stops) stop();
    await peers.broadcast('a', 'three');
    await peers.broadcast('b', 'three');
    assert.equal(heard.length, 3);
  },
  'what is told at once is heard in the order in which it was told': async (peers) => {
    const heard: string[] = [];
    const stop = peers.onBroadcast('a', (body) => void heard.push(body));
    const bodies = ['one', 'two', '', 'four \u0000 \ud800', '\ue000'];
    await Promise.all(bodies.map((body) => peers.broadcast('a', body)));
    assert.deepEqual(heard, bodies);
    stop();
  },
  'what is told while a post is held is heard there': async (peers) => {
    const until = new AbortController();
    const heard = Promise.withResolvers<string>();
    const stop = peers.onBroadcast('a', heard.resolve);
    const held = peers.withLease(
      'a',
      async () => {
        await peers.broadcast('a', 'hello');
        until.abort();
      },
      until.signal,
    );
    assert.equal(await heard.promise, 'hello');
    await held;
    stop();
  },
  'who hears a kind twice hears it twice, until each is stopped': async (peers) => {
    let count = 0;
    const hear = (): void => void count++;
    const stops = [peers.onBroadcast('a', hear), peers.onBroadcast('a', hear)];
    await peers.broadcast('a', '');
    stops[1]!();
    await peers.broadcast('a', '');
    assert.equal(count, 3);
    stops[0]!();
  },
  'a bound is shared by a whole number of instances': async (peers) => {
    assert.ok(Number.isInteger(peers.limitShare()) && peers.limitShare() >= 1);
  },
  'the living ones are in the order of their starts, and this one has its number': async (
    peers,
  ) => {
    const ids = peers.instances().map(({ id }) => id);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.ok(peers.id === 0 ? ids.length === 0 : ids.includes(peers.id));
    peers.onChange(() => assert.fail('it is stopped'))();
    await peers.broadcast('a', '');
  },
};

/** @param skip why it cannot run here; false: it can */
export function testPeersContract(
  name: string,
  open: OpenPeers,
  skip: string | false = false,
): void {
  suite(`peers, ${name}`, { skip }, () => {
    for (const [sentence, run] of Object.entries(cases)) {
      test(sentence, async () => {
        await using opened = await open();
        await run(opened.peers);
      });
    }
  });
}
