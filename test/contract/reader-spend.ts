/** Spend, as every backend reads it. */
import assert from 'node:assert/strict';
import type { ModelName } from '../../src/domain/ids.ts';
import type { SpendBy, SpendRow } from '../../src/domain/spend.ts';
import { hook, other } from './ledger/kit.ts';
import { charge, of, reserve, tokens, used } from './ledger/spend.ts';
import type { It, ReaderCase } from './reader.ts';

const model = (name: string) => ({ model: name as ModelName });
const free = { price: null, costs: false, ...model('local') };

async function spent(it: It, by: SpendBy, since = ''): Promise<readonly SpendRow[]> {
  // No caller waits for a settlement. A later reservation shows that it is stored.
  await reserve(it, charge({ day: '1999-01-01', brain: 'settled' }), tokens(0));
  return it.reader.spent(by, since);
}

const told = (rows: readonly SpendRow[]) =>
  rows.map(({ key, calls, tokens: { input, output }, cost }) => [key, calls, input, output, cost]);

export const spendReads: readonly ReaderCase[] = [
  [
    'nothing is spent at first',
    async (it) => {
      for (const by of ['day', 'brain', 'model', 'sender'] as const) {
        assert.deepEqual(await it.reader.spent(by, ''), []);
      }
    },
  ],
  [
    'a key adds up all prices exactly, with what is reserved beside it',
    async (it) => {
      const { spend } = it.ledger;
      const dear = charge({ price: { input: '0.3', output: '1.1' }, day: '2027-03-05' });
      spend.settle(charge(), null, used(1, 2));
      spend.settle(charge(), null, used(1, 2, true));
      spend.settle(dear, null, used(10, 0));
      await reserve(it, dear, tokens(3, 4));
      spend.settle(charge({ ...free, day: '2027-03-03' }), null, used(100, 100));
      assert.deepEqual(await spent(it, 'brain'), [
        {
          key: 'main',
          channel: null,
          firstDay: '2027-03-03',
          lastDay: '2027-03-05',
          calls: 4,
          tokens: { input: 112, output: 104 },
          costing: { input: 12, output: 4 },
          estimatedCalls: 1,
          open: { input: 3, output: 4 },
          cost: '0.0000057',
          openCost: '0.0000053',
        },
      ]);
      const since = await spent(it, 'brain', '2027-03-04');
      assert.deepEqual(told(since), [['main', 3, 12, 4, '0.0000057']]);
      assert.equal(since[0]!.firstDay, '2027-03-04');
    },
  ],
  [
    'a call whose prompt was wholly cached is one call with all its tokens',
    async (it) => {
      const own = charge({ price: { input: '10', output: '2', cachedInput: '1' } });
      await reserve(it, own, tokens(1_000_000, 500_000));
      const before = await spent(it, 'model');
      assert.deepEqual(told(before), [['cloud', 0, 0, 0, '0']]);
      assert.deepEqual([before[0]!.openCost, before[0]!.open], ['11', tokens(1_000_000, 500_000)]);
      const all = { ...used(1_000_000, 500_000), cached: 1_000_000 };
      it.ledger.spend.settle(own, tokens(1_000_000, 500_000), all);
      const row = ['cloud', 1, 1_000_000, 500_000, '2'];
      assert.deepEqual(told(await spent(it, 'model')), [row]);
      assert.deepEqual(told(await spent(it, 'sender')), [['ann', ...row.slice(1)]]);
    },
  ],
  [
    'the largest cost comes first, then the most tokens, and what has no price last',
    async (it) => {
      const { spend } = it.ledger;
      spend.settle(charge({ ...free, ...model('big') }), null, used(900_000));
      spend.settle(charge({ ...free, ...model('small') }), null, used(9));
      spend.settle(charge(model('a')), null, used(100));
      spend.settle(charge(model('b')), null, used(101));
      const gratis = { price: { input: '0', output: '0' } };
      spend.settle(charge({ ...model('gratis'), ...gratis }), null, used(1));
      assert.deepEqual(told(await spent(it, 'model')), [
        ['b', 1, 101, 0, '0.00001515'],
        ['a', 1, 100, 0, '0.000015'],
        ['gratis', 1, 1, 0, '0'],
        ['big', 1, 900_000, 0, null],
        ['small', 1, 9, 0, null],
      ]);
      assert.deepEqual(told(await spent(it, 'day')), [['2027-03-04', 5, 900_211, 0, '0.00003015']]);
    },
  ],
  [
    'senders are told with their channels, and a trial is of none',
    async (it) => {
      const { spend } = it.ledger;
      spend.settle(charge(), null, used(1));
      spend.settle(charge({ sender: { channel: other, id: 'ann' } }), null, used(2));
      spend.settle(charge(of('b\0b')), null, used(3));
      spend.settle(charge({ sender: null }), null, used(4));
      const rows = await spent(it, 'sender');
      assert.deepEqual(
        rows.map(({ channel, key, tokens: { input } }) => [channel, key, input]),
        [
          [hook, 'b\0b', 3],
          [other, 'ann', 2],
          [hook, 'ann', 1],
        ],
      );
      // A settlement without a wait does not bring them back, either.
      spend.settle(charge(free), null, used(5));
      await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'ann' });
      assert.equal((await spent(it, 'sender')).length, 2);
      assert.deepEqual(told(await spent(it, 'brain')), [['main', 5, 15, 0, '0.0000015']]);
      const talk = { kind: 'conversation', channel: other, conversation: 'ann' as never } as const;
      await it.ledger.forget(talk);
      assert.equal((await spent(it, 'sender')).length, 2);
    },
  ],
  [
    'what was reserved and not used is in no row, and a report has a thousand',
    async (it) => {
      const gone = charge({ brain: 'gone', ...of('gone') });
      await reserve(it, gone, tokens(5));
      it.ledger.spend.settle(gone, tokens(5), null);
      assert.deepEqual(await spent(it, 'sender'), []);
      for (let at = 0; at < 1_005; at++)
        it.ledger.spend.settle(charge(of(`s${at}`)), null, used(at));
      const rows = await spent(it, 'sender');
      assert.equal(rows.length, 1_000);
      assert.deepEqual([rows[0]!.key, rows.at(-1)!.key], ['s1004', 's5']);
      assert.deepEqual(
        (await spent(it, 'brain')).map(({ key }) => key),
        ['main'],
      );
    },
  ],
];
