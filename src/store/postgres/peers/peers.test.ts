import assert from 'node:assert/strict';
import { testPeersContract } from '../../../../test/contract/peers.ts';
import { noPostgres, postgresTest } from '../../../../test/fake/postgres.ts';
import { knows, TestInstances } from '../../../../test/fake/postgres/instances.ts';

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
  assert.equal(other.peers.share(), 2, 'from the start');
  await knows(one.peers, 2);
  assert.equal(one.peers.share(), 2);
  const [first, second] = one.peers.instances();
  assert.deepEqual([first!.id, second!.id], [one.id, other.id]);
  assert.equal(second!.version, '1');
  assert.ok(second!.beganAt >= first!.beganAt);
  await other.close();
  await knows(one.peers, 1);
  assert.equal(one.peers.share(), 1);
});
