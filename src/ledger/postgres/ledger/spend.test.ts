/** Several instances share the sums of a day, even when one of them fails. */
import assert from 'node:assert/strict';
import { charge, of, reserve, tokens, used } from '../../../../test/contract/ledger/spend.ts';
import { until, type HasLedger } from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { TestStores } from '../../../../test/fake/postgres/stores.ts';
import type { Charged, SpendLimit, Tokens } from '../../../domain/spend.ts';
import type { Reserving } from '../../ledger.ts';

const limit: SpendLimit = { kind: 'tokens_per_day', most: 1_000 };
const ofSender: SpendLimit = { kind: 'tokens_per_sender_per_day', most: 300 };
const ofMoney: SpendLimit = { kind: 'cost_per_day', most: '0.00045' };

/** The used and reserved tokens of all instances, read from the tables. */
async function spentOf(all: TestStores, sender = ''): Promise<number> {
  const { rows } = await all.client.query<{ n: string }>(
    'SELECT coalesce(sum(input + output + open_input + open_output), 0) AS n FROM svc.spend ' +
      'WHERE sender = $1',
    [sender],
  );
  return Number(rows[0]!.n);
}

function ask(
  { ledger }: HasLedger,
  charged: Charged,
  most: Tokens,
  limits: readonly SpendLimit[] = [limit],
): Promise<Reserving> {
  return ledger.spend.reserve(charged, most, limits);
}

function countOf(all: readonly Reserving[]): number {
  return all.filter(({ kind }) => kind === 'reserved').length;
}

postgresTest('two instances share a limit, and never one more fits', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  for (const it of [one, other]) await reserve(it, charge(), tokens(0));
  for (let round = 0; round < 20; round++) {
    const both = Array.from({ length: 600 }, (_, at): Promise<Reserving> => {
      const charged = charge({ ...of(`s${at % 7}`), brain: `of round ${round}` });
      return ask(at % 2 === 0 ? one : other, charged, tokens(1, 2), [limit, ofMoney]);
    });
    assert.equal(countOf(await Promise.all(both)), 333);
  }
  assert.equal(await spentOf(all), 20 * 999);
});

postgresTest('under a storm of calls that begin and end nothing goes over', async () => {
  await using all = await TestStores.open();
  const stores = await all.beginTwo();
  const limits = [limit, ofSender];
  let most = 0;
  const talk = async ({ ledger }: HasLedger, sender: string): Promise<number> => {
    let count = 0;
    for (let at = 0; at < 25; at++) {
      const charged = charge({ ...of(sender), brain: at % 5 === 0 ? 'other' : 'main' });
      const reserving = await ledger.spend.reserve(charged, tokens(20, 5), limits);
      if (reserving.kind !== 'reserved') continue;
      for (const { before } of reserving.sums) most = Math.max(most, Number(before) + 25);
      count++;
      ledger.spend.settle(charged, tokens(20, 5), at % 3 === 0 ? null : used(3, 1));
    }
    return count;
  };
  const senders = Array.from({ length: 40 }, (_, at) => `s${at % 10}`);
  const counts = await Promise.all(senders.map((sender, at) => talk(stores[at % 2]!, sender)));
  assert.ok(counts.every((count) => count > 0) && most <= 1_000, String([most, ...counts]));
  for (const { ledger } of stores) await reserve({ ledger }, charge(), tokens(0));
  const { rows } = await all.client.query(
    'SELECT sum(open_input + open_output)::int AS open, sum(calls)::int AS calls, ' +
      "sum(input + output)::int AS used FROM svc.spend WHERE channel = ''",
  );
  const { open, calls, used: sum } = rows[0] as Record<string, number>;
  assert.deepEqual([open, sum], [0, 4 * calls!]);
});

postgresTest(
  'what an instance used and reserved counts for the others, also when it is gone',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await reserve(one, charge(), tokens(600), limit);
    one.ledger.spend.settle(charge(), tokens(600), used(100));
    // This reservation waits for the commit of the cost.
    await reserve(one, charge(), tokens(500), limit);
    assert.deepEqual(await reserve(other, charge(), tokens(300), limit), [600]);
    one.kill();
    assert.deepEqual(await reserve(other, charge(), tokens(100), limit), [900]);
    const late = await ask(one, charge(), tokens(0));
    assert.equal(late.kind, 'unwritten');
  },
);

postgresTest('one that was declared dead reserves nothing', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await reserve(one, charge(), tokens(1), limit);
  await all.client.query('UPDATE svc.instance SET dead = true WHERE id = $1', [one.id]);
  assert.deepEqual(await ask(one, charge(), tokens(1)), { kind: 'unwritten' });
  assert.deepEqual(await reserve(other, charge(), tokens(0), limit), [1]);
});

postgresTest(
  'while the server does not answer nothing is reserved, and later it is again',
  async () => {
    await using all = await TestStores.open();
    const one = await all.begin();
    await reserve(one, charge(), tokens(5), limit);
    await one.way.close();
    assert.deepEqual(await ask(one, charge(), tokens(5)), { kind: 'unwritten' });
    await one.way.open();
    await until('it is reserved again', async () => {
      return (await ask(one, charge(), tokens(0))).kind === 'reserved';
    });
    assert.equal(await spentOf(all), 5);
  },
);

postgresTest('a connection that was lost at rest is made anew', async () => {
  await using all = await TestStores.open();
  const one = await all.begin();
  await reserve(one, charge(), tokens(5), limit);
  one.way.cut();
  assert.deepEqual(await reserve(one, charge(), tokens(5), limit), [5]);
});

postgresTest('a commit whose answer is lost reserves at most, and no call is made', async () => {
  await using all = await TestStores.open();
  const one = await all.begin();
  await reserve(one, charge(), tokens(5), limit);
  const holder = await all.another();
  await holder.query('BEGIN; LOCK TABLE svc.spend IN SHARE MODE');
  const asked = ask(one, charge(), tokens(7));
  await until('its commit is under way', async () => {
    const { rows } = await all.client.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' " +
        "AND query LIKE '%INTO svc.spend%'",
    );
    return rows.length > 0;
  });
  one.way.cut();
  await holder.query('COMMIT');
  assert.deepEqual(await asked, { kind: 'unwritten' });
  const left = await spentOf(all);
  assert.ok(left === 5 || left === 12, String(left));
});

postgresTest('a drain leaves nothing that was used behind', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  for (let at = 0; at < 50; at++) {
    one.ledger.spend.settle(charge(of(`s${at}`)), null, used(2));
  }
  await one.close();
  assert.equal(await spentOf(all), 100);
  assert.equal(await spentOf(all, 's49'), 2);
  await other.ledger.forget({ kind: 'sender', channel: charge().sender!.channel, sender: 's49' });
  assert.deepEqual([await spentOf(all), await spentOf(all, 's49')], [100, 0]);
});
