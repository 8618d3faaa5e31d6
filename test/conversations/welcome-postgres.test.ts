/** Two instances owe the same welcome, on one database: one of them writes it. */
import assert from 'node:assert/strict';
import type { ChannelKey } from '../../src/domain/ids.ts';
import { Pairings } from '../../src/pipeline/pairing/pairing.ts';
import type { InClaim } from '../../src/ledger/ledger.ts';
import { until } from '../contract/ledger/kit.ts';
import { postgresTest } from '../fake/postgres.ts';
import { TestStores } from '../fake/postgres/stores.ts';
import { welcomeOn } from '../messages/messenger-house.ts';

const channel = 'messenger_a:77' as ChannelKey;
const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
const message = welcomeOn(channel);

postgresTest('who was let in is told once, whichever instance tells it', async () => {
  await using on = await TestStores.open();
  const both = await on.beginTwo();
  for (const { ledger } of both) ledger.serve([channel]);
  const pairs = both.map(({ ledger }) => new Pairings(ledger, Date.now, random));
  const [first] = pairs;
  await first!.load('messenger_a');
  const request = first!.pairingRequest('messenger_a', { id: '5', name: 'Ann' });
  assert.ok(request.kind === 'code');
  await both[0].ledger.accept([], request.move);
  assert.equal((await first!.admit(request.code)).kind, 'admitted');
  const ids = new Set<string>();
  const accepted = ({ id }: { id: string }): void => void ids.add(id);
  await Promise.all(
    pairs.map(async (one) => {
      const [owed] = await one.unwelcomed('messenger_a');
      if (owed !== undefined) await one.welcome(owed, { message, accepted });
    }),
  );
  assert.equal(ids.size, 1);
  // The owner of the conversation works on it.
  const claims: InClaim[] = [];
  await until('it can be claimed', async () => {
    for (const { ledger } of both) claims.push(...(await ledger.claim('in', channel, 1)));
    return claims.length > 0;
  });
  assert.equal(claims[0]?.message.welcome, true, 'it is read back as what it is');
  assert.deepEqual(await first!.unwelcomed('messenger_a'), []);
});
