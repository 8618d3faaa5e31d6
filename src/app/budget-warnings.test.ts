import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Budget } from '../domain/spend.ts';
import { SpendMeters } from '../telemetry/spend-meters.ts';
import { budgetWarnings, recallBudgets } from './run.ts';

test('of a budget that was raised or removed since, or was tried alone, nothing is told', () => {
  const spend = new SpendMeters(() => new Date(2026, 10, 27, 12).getTime());
  const told: string[] = [];
  const reach = (most: number): void => {
    const of = { brain: 'main', limit: 'tokens_per_day', state: 'used_up', most } as const;
    const events = { warned: ({ code }: { code: string }) => void told.push(code) };
    spend.budgets.reached({ ...of, day: '2026-11-27' }, events);
  };
  const paths = (tokensPerDay: number | null): readonly string[] => {
    const none = { tokensPerTurn: null, costPerDay: null, tokensPerSenderPerDay: null };
    const budget: Budget = { ...none, tokensPerDay };
    const brains = [
      { name: 'other', budget: null },
      { name: 'main', budget },
    ];
    return budgetWarnings({ spend }, { brains }).map(({ path }) => path);
  };
  reach(100);
  assert.deepEqual(paths(100), ['brains[1].budget.tokens_per_day']);
  assert.deepEqual([paths(200), paths(null)], [[], []]);
  reach(200);
  assert.deepEqual(paths(200), ['brains[1].budget.tokens_per_day']);
  assert.equal(told.length, 2, 'the raised one is told of, too');
});

test('after a start it is told again which budgets are nearly used today', async () => {
  const none = { tokensPerTurn: null, costPerDay: null, tokensPerSenderPerDay: null };
  const brains = [79, 80, 97].map((tokens) => {
    return { name: `used ${tokens}`, budget: { ...none, tokensPerTurn: 5, tokensPerDay: 100 } };
  });
  const days = { firstDay: '2026-11-27', lastDay: '2026-11-27' };
  const spent = { calls: 1, cost: '0.8', openCost: null, estimatedCalls: 0, ...days };
  const rows = brains.map(({ name }) => {
    const costing = { input: Number(name.slice(5)) - 10, output: 0 };
    const open = { input: 5, output: 5 };
    return { ...spent, key: name, channel: null, tokens: costing, costing, open };
  });
  const told: unknown[] = [];
  const deps = {
    reader: { spent: async () => rows },
    events: { budgetReached: (one: unknown) => void told.push(one) },
    now: () => new Date(2026, 10, 27, 12).getTime(),
  };
  const ofMoney = { name: 'used 79', budget: { ...none, tokensPerDay: null, costPerDay: '1' } };
  await recallBudgets(deps, { brains });
  const of = { limit: 'tokens_per_day', most: 100, state: 'nearly_used', day: '2026-11-27' };
  assert.deepEqual(told, [
    { brain: 'used 80', ...of },
    { brain: 'used 97', ...of },
  ]);
  await recallBudgets(deps, { brains: [ofMoney] });
  assert.deepEqual(told[2], { ...of, brain: 'used 79', limit: 'cost_per_day', most: '1' });
});
