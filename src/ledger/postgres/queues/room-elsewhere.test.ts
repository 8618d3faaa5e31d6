/** How much work there is over all instances, as one of them knows it. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  isSettled,
  said,
  settles,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesIn, TestStores } from '../../../../test/fake/postgres/stores.ts';

postgresTest('who waits for room is told when another instance has made some', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo({ limits: { messagesMax: 1 } });
  await accept(one, said('ann', 'hello'));
  await until('it is full', () => other.ledger.room().messages === 0);
  const { signal } = new AbortController();
  const room = other.ledger.whenRoom(signal);
  assert.equal(await isSettled(room), false);
  await answer(one, await comesIn(one));
  await settles(room);
  await accept(other, said('ann', 'hello again'));
});
