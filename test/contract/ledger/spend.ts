/** The usage and reservations of calls to models, and the limits that hold over turns. */
import assert from 'node:assert/strict';
import type { ModelName } from '../../../src/domain/ids.ts';
import type { Charged, SpendLimit, Tokens, Used } from '../../../src/domain/spend.ts';
import type { LimitSum, Reserving } from '../../../src/ledger/ledger.ts';
import { durably, hook, promise, type HasLedger, type LedgerCase } from './kit.ts';

const day = '2027-03-04';

export function charge(more: Partial<Charged> = {}): Charged {
  return {
    day,
    brain: 'main',
    model: 'cloud' as ModelName,
    price: { input: '0.15', output: '0.6' },
    costs: true,
    sender: { channel: hook, id: 'ann' },
    ...more,
  };
}

export const of = (id: string): Partial<Charged> => ({ sender: { channel: hook, id } });
export const tokens = (input: number, output = 0): Tokens => ({ input, output });
export const used = (input: number, output = 0, estimated = false): Used => {
  return { input, output, estimated };
};
const perDay = (most: number): SpendLimit => ({ kind: 'tokens_per_day', most });
const costPerDay = (most: string): SpendLimit => ({ kind: 'cost_per_day', most });
const perSender = (most: number): SpendLimit => ({ kind: 'tokens_per_sender_per_day', most });

/** Reserves an amount that must fit. @returns the usage under each limit before */
export async function reserve(
  it: HasLedger,
  charged: Charged,
  most: Tokens,
  ...limits: readonly SpendLimit[]
): Promise<readonly LimitSum['before'][]> {
  const reserving = await it.ledger.spend.reserve(charged, most, limits);
  assert.equal(reserving.kind, 'reserved');
  return reserving.kind === 'reserved' ? reserving.sums.map(({ before }) => before) : [];
}

/** Expects a refusal. @returns the limit that is exceeded */
async function isOver(
  it: HasLedger,
  charged: Charged,
  most: Tokens,
  ...limits: readonly SpendLimit[]
): Promise<SpendLimit['kind']> {
  const reserving: Reserving = await it.ledger.spend.reserve(charged, most, limits);
  assert.ok(reserving.kind === 'over', reserving.kind);
  return reserving.limit.kind;
}

export const spendCases: readonly LedgerCase[] = [
  promise(
    'what is reserved reaches the limit exactly, and what is over writes nothing',
    async (it) => {
      assert.deepEqual(await reserve(it, charge(), tokens(600, 100), perDay(1_000)), [0]);
      assert.equal(await isOver(it, charge(), tokens(300, 1), perDay(1_000)), 'tokens_per_day');
      assert.deepEqual(await reserve(it, charge(), tokens(200, 100), perDay(1_000)), [700]);
      assert.equal(await isOver(it, charge(), tokens(0, 1), perDay(1_000)), 'tokens_per_day');
      assert.deepEqual(await reserve(it, charge(), tokens(0), perDay(1_000)), [1_000]);
    },
  ),
  promise('of very many at once as many fit as the limit holds', async (it) => {
    const limits = [perDay(3_500), perSender(3_500)];
    const all = await Promise.all(
      Array.from({ length: 1_000 }, () => it.ledger.spend.reserve(charge(), tokens(3, 4), limits)),
    );
    assert.equal(all.filter(({ kind }) => kind === 'reserved').length, 500);
    assert.equal(all.filter(({ kind }) => kind === 'over').length, 500);
    assert.deepEqual(await reserve(it, charge(), tokens(0), ...limits), [3_500, 3_500]);
  }),
  promise('what was used takes the place of what was reserved', async (it) => {
    await reserve(it, charge(), tokens(600, 400), perDay(1_000));
    assert.equal(await isOver(it, charge(), tokens(1), perDay(1_000)), 'tokens_per_day');
    it.ledger.spend.settle(charge(), tokens(600, 400), used(100, 50));
    assert.deepEqual(await reserve(it, charge(), tokens(850), perDay(1_000)), [150]);
    it.ledger.spend.settle(charge(), tokens(850), null);
    assert.deepEqual(await reserve(it, charge(), tokens(0), perDay(1_000)), [150]);
  }),
  promise('many calls that end at once are all given back', async (it) => {
    const models = ['a', 'b', 'c'].map((model) => charge({ model: model as ModelName }));
    for (const charged of models) {
      for (let at = 0; at < 20; at++) await reserve(it, charged, tokens(10, 5));
    }
    for (const charged of models) {
      for (let at = 0; at < 20; at++) {
        it.ledger.spend.settle(charged, tokens(10, 5), at === 0 ? null : used(1, 2));
      }
    }
    assert.deepEqual(await reserve(it, charge(), tokens(0), perDay(1_000)), [3 * 19 * 3]);
  }),
  promise('more than was reserved counts as well', async (it) => {
    await reserve(it, charge(), tokens(10), perDay(20));
    it.ledger.spend.settle(charge(), tokens(10), used(25));
    assert.equal(await isOver(it, charge(), tokens(0), perDay(20)), 'tokens_per_day');
  }),
  promise('money is added up exactly, each call at its own price', async (it) => {
    const limit = costPerDay('0.3');
    const at = (price: string): Charged => charge({ price: { input: price, output: '0' } });
    assert.deepEqual(await reserve(it, at('0.1'), tokens(1_000_000), limit), ['0']);
    assert.deepEqual(await reserve(it, at('0.2'), tokens(1_000_000), limit), ['0.1']);
    assert.equal(await isOver(it, at('0.1'), tokens(1), limit), 'cost_per_day');
    const free = charge({ price: null });
    assert.deepEqual(await reserve(it, free, tokens(5), limit, perDay(2_000_005)), [
      '0.3',
      2_000_000,
    ]);
    it.ledger.spend.settle(at('0.1'), tokens(1_000_000), used(999_999));
    assert.deepEqual(await reserve(it, at('0.1'), tokens(1), limit), ['0.2999999']);
  }),
  promise('tokens from a cache have a price of their own, and are never too many', async (it) => {
    const limit = costPerDay('1000');
    const price = { input: '10', output: '0', cachedInput: '1' };
    const own = charge({ price });
    assert.deepEqual(await reserve(it, own, tokens(1_000_000), limit), ['0']);
    it.ledger.spend.settle(own, tokens(1_000_000), { ...used(500_000), cached: 400_000 });
    assert.deepEqual(await reserve(it, own, tokens(100_000), limit, perDay(600_000)), [
      '1.4',
      500_000,
    ]);
    it.ledger.spend.settle(own, tokens(100_000), { ...used(100_000), cached: 900_000 });
    const sums = await reserve(it, own, tokens(0), limit, perDay(600_000), perSender(600_000));
    assert.deepEqual(sums, ['1.5', 600_000, 600_000]);
  }),
  promise('what is reserved has the dearer price of input and cached input', async (it) => {
    const own = charge({ price: { input: '1', output: '0', cachedInput: '3' } });
    assert.equal(await isOver(it, own, tokens(1_000_000), costPerDay('2.9')), 'cost_per_day');
    const limit = costPerDay('3');
    assert.deepEqual(await reserve(it, own, tokens(1_000_000), limit), ['0']);
    assert.deepEqual(await reserve(it, own, tokens(0), limit), ['3']);
    it.ledger.spend.settle(own, tokens(1_000_000), { ...used(1_000_000), cached: 250_000 });
    assert.deepEqual(await reserve(it, own, tokens(0), limit), ['1.5']);
    it.ledger.spend.settle(own, tokens(0), null);
    assert.deepEqual(await reserve(it, own, tokens(0), limit), ['1.5']);
  }),
  promise('a call with cached tokens that ends late brings nobody back', async (it) => {
    const own = charge({ price: { input: '10', output: '0', cachedInput: '1' } });
    await reserve(it, own, tokens(10), perSender(100));
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'ann' });
    it.ledger.spend.settle(own, tokens(10), { ...used(9), cached: 8 });
    assert.deepEqual(await reserve(it, own, tokens(0), perDay(100), perSender(100)), [9, 0]);
  }),
  promise(
    'days, brains and senders are apart, and a day and a brain have all its senders',
    async (it) => {
      const limits = [perDay(100), perSender(60)];
      assert.deepEqual(await reserve(it, charge(), tokens(60), ...limits), [0, 0]);
      const own = charge();
      assert.equal(await isOver(it, own, tokens(1), ...limits), 'tokens_per_sender_per_day');
      assert.deepEqual(await reserve(it, charge(of('bob')), tokens(40), ...limits), [60, 0]);
      assert.equal(await isOver(it, charge(of('cid')), tokens(1), ...limits), 'tokens_per_day');
      const elsewhere = charge({ day: '2027-03-05' });
      assert.deepEqual(await reserve(it, elsewhere, tokens(60), ...limits), [0, 0]);
      assert.deepEqual(
        await reserve(it, charge({ brain: 'other' }), tokens(60), ...limits),
        [0, 0],
      );
    },
  ),
  promise('of a model that is free nothing counts under a limit', async (it) => {
    it.ledger.spend.settle(charge({ costs: false, price: null }), null, used(500, 500));
    assert.deepEqual(await reserve(it, charge(), tokens(10), perDay(10), perSender(10)), [0, 0]);
  }),
  promise('what cost and had nothing reserved counts', async (it) => {
    it.ledger.spend.settle(charge(), null, used(5));
    await reserve(it, charge(), tokens(3), perDay(10));
    it.ledger.spend.settle(charge(), null, used(1));
    it.ledger.spend.settle(charge(), tokens(3), used(2));
    it.ledger.spend.settle(charge(), null, null);
    assert.deepEqual(await reserve(it, charge(), tokens(0), perDay(10), perSender(10)), [8, 8]);
  }),
  promise("a trial is nobody's, and counts for its brain", async (it) => {
    const trial = charge({ sender: null });
    assert.deepEqual(await reserve(it, trial, tokens(5), perSender(1), perDay(10)), [0]);
    assert.deepEqual(await reserve(it, charge(), tokens(1), perDay(10), perSender(1)), [5, 0]);
  }),
  promise('a call is charged to the day on which it began', async (it) => {
    await reserve(it, charge(), tokens(10), perDay(10));
    it.ledger.spend.settle(charge(), tokens(10), used(7));
    assert.deepEqual(await reserve(it, charge(), tokens(3), perDay(10)), [7]);
    const next = charge({ day: '2027-03-05' });
    assert.deepEqual(await reserve(it, next, tokens(10), perDay(10)), [0]);
  }),
  promise('what somebody used is forgotten with them, but for the sum of all', async (it) => {
    const limits = [perDay(100), perSender(100)];
    await reserve(it, charge(), tokens(10), ...limits);
    it.ledger.spend.settle(charge(), tokens(10), used(4));
    await reserve(it, charge(), tokens(10), ...limits);
    await reserve(it, charge(of('bob')), tokens(20), ...limits);
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'ann' });
    // A call under way does not bring them back.
    it.ledger.spend.settle(charge(), tokens(10), used(3));
    assert.deepEqual(await reserve(it, charge(), tokens(0), ...limits), [27, 0]);
    assert.deepEqual(await reserve(it, charge(of('bob')), tokens(0), ...limits), [27, 20]);
  }),
  promise('names of any kind are kept apart', async (it) => {
    const [one, other] = [charge(of('a\0b')), charge(of('a\uE000b'))];
    await reserve(it, one, tokens(7), perSender(10));
    assert.deepEqual(await reserve(it, other, tokens(1), perSender(10)), [0]);
    const brain = charge({ brain: "o'b\u{1F600}" });
    await reserve(it, brain, tokens(7), perDay(10));
    it.ledger.spend.settle(brain, tokens(7), used(2));
    assert.deepEqual(await reserve(it, brain, tokens(1), perDay(10)), [2]);
  }),
  durably('what was used, and what a process left reserved, counts after a start', async (it) => {
    const limits = [perDay(100), costPerDay('1'), perSender(100)];
    await reserve(it, charge(), tokens(10, 10));
    await reserve(it, charge(), tokens(0, 30));
    it.ledger.spend.settle(charge(), tokens(0, 30), used(2, 1));
    await it.reopen();
    const before = await reserve(it, charge(), tokens(77), ...limits);
    assert.deepEqual(before, [23, '0.0000084', 23]);
    assert.equal(await isOver(it, charge(), tokens(1), perDay(100)), 'tokens_per_day');
    it.ledger.spend.settle(charge(), tokens(77), used(7));
    await it.reopen();
    assert.deepEqual(await reserve(it, charge(), tokens(0), perDay(100)), [30]);
  }),
  durably('after the end nothing is reserved', async (it) => {
    await it.ledger[Symbol.asyncDispose]();
    const late = await it.ledger.spend.reserve(charge(), tokens(1), []);
    assert.deepEqual(late, { kind: 'unwritten' });
    it.ledger.spend.settle(charge(), null, used(1));
  }),
];
