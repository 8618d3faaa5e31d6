import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelName } from '../domain/ids.ts';
import { BudgetNotices, RefusalCounts, TokenCounts } from './spend-meters.ts';

const day = '2026-11-27';
const limit = 'tokens_per_day';

test('what a budget came to is told once a day', () => {
  let now = new Date(2026, 10, 27, 23).getTime();
  const notices = new BudgetNotices(() => now);
  const told: string[] = [];
  const reach = (more: object = {}): void => {
    const reached = { brain: 'main', limit, most: 9, state: 'nearly_used', day, ...more } as const;
    notices.reached(reached, { warned: ({ code, message }) => told.push(`${code} ${message}`) });
  };
  reach();
  reach();
  reach({ limit: 'tokens_per_sender_per_day' });
  reach({ state: 'used_up' });
  assert.deepEqual(
    told.map((line) => line.split(' ')[0]),
    ['budget_nearly_used', 'budget_nearly_used', 'budget_used_up'],
  );
  assert.match(
    told[2]!,
    /main did not fit into what is left of budget\.tokens_per_day for today: .*svc spend/,
  );
  const codes = (): readonly string[] => notices.warnings.map(({ code }) => code);
  assert.deepEqual(codes(), ['budget_nearly_used', 'budget_used_up']);
  now += 2 * 3_600_000;
  assert.deepEqual(codes(), []);
  reach();
  assert.equal(told.length, 3, 'a call of yesterday that was under way');
  reach({ day: '2026-11-28' });
  assert.equal(told.length, 4);
});

test('tokens beyond so many pairs of a brain and a model are counted together', () => {
  const counts = new TokenCounts();
  const used = { input: 2, output: 1, estimated: false };
  for (let n = 0; n < 510; n++) {
    const model = `hosted_runtime/${n}` as ModelName;
    counts.spent({ brain: 'main', model, used, price: null });
    counts.spent({ brain: 'main', model, used: { ...used, cached: 1 }, price: null });
  }
  const all = [...counts.values()];
  const first = { brain: 'main', provider: 'hosted_runtime', model: 'hosted_runtime/0' };
  assert.deepEqual(all[0], { ...first, input: 4, output: 2, cached: 1, cost: null });
  const names = { brain: 'others', provider: 'others', model: 'others' };
  const rest = { ...names, input: 40, output: 20, cached: 10, cost: null };
  assert.deepEqual(all.slice(500), [rest]);
});

test('what calls cost is added up, with the price of tokens from a cache', () => {
  const counts = new TokenCounts();
  const model = 'hosted_runtime/big' as ModelName;
  const used = { input: 1_000_000, output: 500_000, estimated: false };
  const price = { input: '2', output: '8' };
  const costAfter = (more: object, priced: Parameters<typeof counts.spent>[0]['price']) => {
    counts.spent({ brain: 'main', model, used: { ...used, ...more }, price: priced });
    return [...counts.values()][0]!.cost;
  };
  assert.equal(costAfter({}, null), null);
  assert.equal(costAfter({}, price), 6);
  assert.equal(costAfter({ cached: 900_000 }, price), 12, 'without a price of their own');
  assert.equal(costAfter({ cached: 900_000 }, { ...price, cachedInput: '0.5' }), 16.65);
  assert.equal(costAfter({ cached: 9e9 }, { ...price, cachedInput: '0.5' }), 21.15);
});

test('calls that did not fit are counted by brain and limit, beyond so many together', () => {
  const counts = new RefusalCounts();
  for (let n = 0; n < 510; n++) counts.refused({ brain: `${n}`, limit });
  counts.refused({ brain: '0', limit });
  const all = [...counts.values()];
  assert.deepEqual(all[0], { brain: '0', limit, count: 2 });
  assert.deepEqual(all.slice(500), [{ brain: 'others', limit, count: 10 }]);
});
