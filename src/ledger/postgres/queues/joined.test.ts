/** Messages that are merged into one, where several instances may work them. */
import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesIn, TestStores } from '../../../../test/fake/postgres/stores.ts';
import { accept, answer, effects, said } from '../../../../test/contract/ledger/kit.ts';

const gather = { kind: 'burst', ms: 300 } as const;
const burst = ['one', 'two'].map((text) => said('ann', text, { gather }));

postgresTest('what was merged with a message that is gone is not gone with it', async () => {
  await using stores = await TestStores.open();
  const store = await stores.begin();
  const [one] = await accept(store, ...burst, said('ann', 'three'));
  const claim = await comesIn(store);
  assert.equal(claim.message.text, 'one\ntwo');
  await stores.client.query('DELETE FROM svc.inbox WHERE id = $1', [one!.id]);
  assert.equal(await store.ledger.complete(claim, effects(claim, ['both'])), false);
  const next = await comesIn(store);
  assert.equal(next.message.text, 'two');
  await answer(store, next, 'the second');
});

postgresTest('what another instance took in is merged again when its owner has died', async () => {
  await using stores = await TestStores.open();
  const [first, second] = await stores.beginTwo();
  const ids = (await accept(first, ...burst)).map(({ id }) => id);
  const claim = await comesIn(first);
  assert.equal(claim.message.text, 'one\ntwo');
  await stores.bury(first);
  const again = await comesIn(second);
  assert.deepEqual([again.message.text, again.message.id], ['one\ntwo', ids[0]]);
  await answer(second, again, 'both');
  const { rows } = await stores.client.query<{ id: string }>(
    'SELECT id FROM svc.message ORDER BY id',
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    ids,
  );
});
