import assert from 'node:assert/strict';
import { testPeersContract } from '../../../../test/contract/peers.ts';
import { noPostgres, postgresTest } from '../../../../test/fake/postgres.ts';
import { heartbeats, knows, TestInstances } from '../../../../test/fake/postgres/instances.ts';
import { FollowingClock, steadyNow, type ClockReading } from '../../../lib/clock.ts';

const open = async () => {
  const all = await TestInstances.open();
  const { peers } = await all.begin();
  return { peers, [Symbol.asyncDispose]: () => all[Symbol.asyncDispose]() };
};

testPeersContract('over PostgreSQL', open, noPostgres);

testPeersContract(
  'over PostgreSQL, with another one',
  async () => {
    const all = await TestInstances.open();
    const [one] = await all.beginAll(2);
    return { peers: one!.peers, [Symbol.asyncDispose]: () => all[Symbol.asyncDispose]() };
  },
  noPostgres,
);

postgresTest('each knows who lives, and is told of who comes and goes', async () => {
  await using all = await TestInstances.open();
  const one = await all.begin();
  assert.deepEqual(
    one.peers.instances().map(({ id }) => id),
    [1],
    'before the first beat',
  );
  const other = await all.begin();
  assert.equal(other.peers.limitShare(), 2, 'from the start');
  await knows(one.peers, 2);
  assert.equal(one.peers.limitShare(), 2);
  const [first, second] = one.peers.instances();
  assert.deepEqual([first!.id, second!.id], [one.id, other.id]);
  assert.equal(second!.version, '1');
  assert.ok(second!.beganAt >= first!.beganAt);
  await other.close();
  await knows(one.peers, 1);
  assert.equal(one.peers.limitShare(), 1);
});

postgresTest(
  "machines whose clocks differ tell one time, the server's, from the start",
  async () => {
    await using all = await TestInstances.open();
    const aheadMs = [-300_000, 300_000, 0];
    const clocks = aheadMs.map((ahead) => {
      return new FollowingClock({ now: () => Date.now() + ahead, steady: steadyNow });
    });
    let widest = 0;
    const found: number[] = [];
    const follow = (which: number, reading: ClockReading): void => {
      widest = Math.max(widest, reading.answeredAt - reading.askedAt);
      found[which] = clocks[which]!.follow(reading);
    };
    const begin = (which: number) => all.begin(undefined, { follow: (is) => follow(which, is) });
    const one = await begin(0);
    await begin(1);
    await begin(2);
    const agree = (): void => {
      const from = steadyNow();
      const [first, ...others] = clocks.map(({ now }) => now());
      const most = 2 * widest + (steadyNow() - from) + 10;
      for (const other of others) {
        assert.ok(Math.abs(other - first!) <= most, `${other - first!} ms, ${widest}`);
      }
    };
    agree();
    await heartbeats(one.peers, 5);
    agree();
    // Wherever the server's clock stands, the two clocks are this far apart.
    assert.ok(found[0]! - found[1]! > 500_000, String(found));
  },
);
