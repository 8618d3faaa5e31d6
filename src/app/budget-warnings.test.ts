import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Budget } from '../domain/spend.ts';
import { SpendMeters } from '../telemetry/spend-meters.ts';
import { budgetWarnings } from './run.ts';

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
