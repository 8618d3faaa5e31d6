import assert from 'node:assert/strict';
import { seeded } from '../../../../test/chaos/proof.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import {
  heartbeats,
  knows,
  shortTimes,
  stopped,
  TestInstances,
  work,
} from '../../../../test/fake/postgres/instances.ts';
import { turns } from '../../../../test/contract/ledger/kit.ts';
import { until } from '../../../../test/support/waiting.ts';

const { signal: always } = new AbortController();

postgresTest('a lease that one has is given to another when it is let go', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const over = new AbortController();
  const [first, second] = [work(), work()];
  const held = one!.peers.withLease('a', first.run, over.signal);
  await first.begun;
  assert.equal(one!.peers.holds('a'), true);
  const waits = other!.peers.withLease('a', second.run, always);
  await until('the other knows whose it is', () => {
    return other!.peers.instances()[0]?.posts[0] === 'a';
  });
  assert.equal(other!.peers.holds('a'), false);
  over.abort();
  await stopped(await first.begun);
  assert.equal((await all.lease('a')).owner, one!.id, 'it has not ended yet');
  first.end();
  await held;
  const stop = await second.begun;
  assert.equal(one!.peers.holds('a'), false);
  assert.deepEqual(await all.lease('a'), { owner: other!.id, epoch: 2 });
  assert.equal(stop.aborted, false);
  second.end();
  await waits;
});

postgresTest('a lease is had once the server has said so, and not before', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const [first, second] = [work(), work()];
  let [wants, begun] = [false, false];
  void first.begun.then(() => (begun = true));
  const asked = new Promise<void>((resolve) => {
    one!.peers.heartbeat.addWrites(() => {
      if (wants) one!.way.hold();
      if (wants) resolve();
      return [];
    });
  });
  wants = true;
  void one!.peers.withLease('a', first.run, always);
  await asked;
  wants = false;
  void other!.peers.withLease('a', second.run, always);
  await second.begun;
  assert.deepEqual([begun, one!.peers.holds('a')], [false, false]);
  one!.way.release();
  await heartbeats(one!.peers, 2);
  assert.deepEqual([begun, one!.peers.holds('a')], [false, false]);
  second.end();
  first.end();
});

postgresTest('who waits for a lease in vain may stop waiting', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const it = work();
  void one!.peers.withLease('a', it.run, always);
  await it.begun;
  const over = new AbortController();
  const waits = other!.peers.withLease('a', () => assert.fail('it runs'), over.signal);
  over.abort();
  await waits;
  it.end();
});

postgresTest('within one instance, too, a lease is held by one at a time', async () => {
  await using all = await TestInstances.open();
  const { peers } = await all.begin();
  const [first, second] = [work(), work()];
  let begun = false;
  const held = peers.withLease('a', first.run, always);
  const next = peers.withLease('a', (stop) => ((begun = true), second.run(stop)), always);
  await first.begun;
  await peers.broadcast('anything', '');
  assert.equal(begun, false);
  first.end();
  await held;
  await second.begun;
  second.end();
  await next;
  await until('it is free', async () => (await all.lease('a')).owner === null);
});

postgresTest('a lease that is being let go is not held again before it is free', async () => {
  await using all = await TestInstances.open();
  const one = await all.begin();
  const [first, second] = [work(), work()];
  const held = one.peers.withLease('a', first.run, always);
  await first.begun;
  one.way.hold();
  first.end();
  await held;
  // From this heartbeat on the release of the lease is on its way to the server.
  await new Promise<void>((resolve) => one.peers.heartbeat.addWrites(() => (resolve(), [])));
  let begun = false;
  void second.begun.then(() => (begun = true));
  const again = one.peers.withLease('a', second.run, always);
  await turns(5);
  assert.equal(begun, false);
  one.way.release();
  await second.begun;
  assert.deepEqual(await all.lease('a'), { owner: one.id, epoch: 2 });
  second.end();
  await again;
});

postgresTest('a lease of one that ends, or is killed, goes to another', async () => {
  await using all = await TestInstances.open();
  const [one, other, third] = await all.beginAll(3);
  const [first, second, last] = [work(), work(), work()];
  void one!.peers.withLease('a', first.run, always);
  await first.begun;
  void other!.peers.withLease('a', second.run, always);
  one!.kill();
  await stopped(await first.begun);
  await all.passUntilDead(other!, third!);
  await second.begun;
  assert.deepEqual(await all.lease('a'), { owner: other!.id, epoch: 2 });
  assert.equal((await all.instance(one!.id))['dead'], true);
  void third!.peers.withLease('a', last.run, always);
  await other!.close();
  await stopped(await second.begun);
  await last.begun;
  assert.deepEqual(await all.lease('a'), { owner: third!.id, epoch: 3 });
});

postgresTest(
  'who cannot send a heartbeat stops before another may begin, and has lost it then',
  async () => {
    await using all = await TestInstances.open();
    const [one, other] = await all.beginAll(2);
    const [first, second] = [work(), work()];
    const order: string[] = [];
    void one!.peers.withLease('a', first.run, always);
    const stop = await first.begun;
    stop.addEventListener('abort', () => order.push('stopped'));
    void other!.peers.withLease('a', second.run, always);
    one!.way.hold();
    const begins = second.begun.then(() => order.push('begun'));
    await all.passUntilDead(other!);
    await begins;
    assert.deepEqual(order, ['stopped', 'begun']);
    assert.equal(one!.peers.holds('a'), false);
    one!.way.release();
    await until('it can write no more', () => one!.broken() !== null);
    assert.match(one!.broken()!.message, /another instance of svc has taken over/);
    first.end();
  },
);

postgresTest(
  'what was stopped for want of a heartbeat is begun again when the lease is had',
  async () => {
    await using all = await TestInstances.open();
    const one = await all.begin();
    const over = new AbortController();
    const runs: AbortSignal[] = [];
    let ended = Promise.withResolvers<void>();
    const run = async (stop: AbortSignal): Promise<void> => {
      runs.push(stop);
      await stopped(stop);
      await ended.promise;
    };
    const held = one.peers.withLease('a', run, over.signal);
    await until('it runs', () => runs.length === 1);
    one.way.hold();
    await all.pass(shortTimes.holdMs);
    await stopped(runs[0]!);
    one.way.release();
    await until('it has beaten', () => one.peers.holds('a'));
    assert.equal(runs.length, 1, 'the first run has not ended');
    ended.resolve();
    await until('it runs again', () => runs.length === 2);
    assert.equal(runs[1]!.aborted, false);
    assert.deepEqual(await all.lease('a'), { owner: one.id, epoch: 1 });
    over.abort();
    await held;
    ended = Promise.withResolvers();
  },
);

postgresTest('what a heartbeat says is as old as its question', async () => {
  await using all = await TestInstances.open();
  const { holdMs } = shortTimes;
  const one = await all.begin();
  const it = work();
  void one.peers.withLease('a', it.run, always);
  const stop = await it.begun;
  const old: boolean[] = [];
  one.peers.heartbeat.onNews(({ askedAt, landedAt }) => {
    if (landedAt - askedAt > holdMs) old.push(one.peers.holds('a'));
  });
  await new Promise<void>((resolve) => {
    one.peers.heartbeat.addWrites(() => (one.way.hold(), resolve(), []));
  });
  await all.pass(holdMs + 1);
  await stopped(stop);
  one.way.release();
  await until('it is answered', () => old.length > 0);
  assert.deepEqual(old, [false]);
  it.end();
});

postgresTest('a lease that somebody took away is not held any more', async () => {
  await using all = await TestInstances.open();
  const [one, other] = await all.beginAll(2);
  const [it, again] = [work(), work()];
  let runs = 0;
  void one!.peers.withLease('a', (stop) => (runs++ === 0 ? it : again).run(stop), always);
  const stop = await it.begun;
  await all.client.query('UPDATE svc.post SET owner = $1', [other!.id]);
  await stopped(stop);
  it.end();
  // The other instance does not want it, and gives it up.
  await again.begun;
  again.end();
});

postgresTest('of three that want a lease again and again one has it at a time', async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const random = seeded(seed);
  await using all = await TestInstances.open();
  const three = await all.beginAll(3);
  const over = new AbortController();
  const holders = new Map<string, number>();
  let [begun, most] = [0, 0];
  const run = async (lease: string): Promise<void> => {
    const now = (holders.get(lease) ?? 0) + 1;
    holders.set(lease, now);
    most = Math.max(most, now);
    begun++;
    await turns(random() * 200);
    holders.set(lease, now - 1);
  };
  const want = async (lease: string, which: number): Promise<void> => {
    while (!over.signal.aborted) {
      await three[which]!.peers.withLease(lease, () => run(lease), over.signal);
      await turns(random() * 800);
    }
  };
  const ends = ['a', 'b'].flatMap((lease) => three.map((_, which) => want(lease, which)));
  for (let cut = 0; cut < 20; cut++) {
    const least = begun + 3;
    await until('some have their turn', () => begun >= least);
    three[cut % 3]!.way.cut();
  }
  over.abort();
  await Promise.all(ends);
  assert.equal(most, 1, `seed ${seed}`);
  await until('all are free', async () => {
    return (await all.lease('a')).owner === null && (await all.lease('b')).owner === null;
  });
});

postgresTest('the server away for longer than it takes to be dead kills nobody', async () => {
  await using all = await TestInstances.open();
  const three = await all.beginAll(3);
  const it = work();
  void three[0]!.peers.withLease('a', it.run, always);
  const stop = await it.begun;
  for (const { way } of three) way.hold();
  await all.pass(shortTimes.deadMs + 300);
  await stopped(stop);
  for (const { way } of three) way.release();
  await until('it is had again', () => three[0]!.peers.holds('a'));
  await all.passUntilDead(...three);
  for (const { peers } of three) await knows(peers, 3);
  assert.deepEqual(
    three.map(({ broken }) => broken()),
    [null, null, null],
  );
  assert.deepEqual(await all.lease('a'), { owner: three[0]!.id, epoch: 1 });
  it.end();
});
