import assert from 'node:assert/strict';
import { postgresTest } from '../../../test/fake/postgres.ts';
import { TestStores } from '../../../test/fake/postgres/stores.ts';

postgresTest('what a listener throws is told as a fault, and all else is heard', async () => {
  await using stores = await TestStores.open();
  const faults: unknown[] = [];
  const { peers } = await stores.begin({ news: { faulted: (error) => faults.push(error) } });
  const bug = new Error('a bug');
  const heard: string[] = [];
  peers.onBroadcast('of one', (body) => {
    if (body === 'a') throw bug;
    heard.push(body);
  });
  await peers.broadcast('of one', 'a');
  await peers.broadcast('of one', 'b');
  assert.deepEqual(faults, [bug]);
  assert.deepEqual(heard, ['b']);
});
