import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Events } from '../domain/event.ts';
import type { ChannelKey, ModelName } from '../domain/ids.ts';
import type {
  Budget,
  Charged,
  BudgetGuard,
  Reserved,
  SpendLimit,
  Tokens,
  Unpaid,
  Used,
} from '../domain/spend.ts';
import type { Reserving, SpendBook } from '../ledger/ledger.ts';
import { createBudgetGuard } from './budget-guard.ts';

const paid = { model: 'hosted_runtime/big' as ModelName, price: null, costs: true };
const free = { model: 'local_runtime/small' as ModelName, price: null, costs: false };
const none: Budget = {
  tokensPerTurn: null,
  tokensPerDay: null,
  costPerDay: null,
  tokensPerSenderPerDay: null,
};
const noon = new Date(2026, 10, 27, 12).getTime();
const midnight = new Date(2026, 10, 28).getTime();
const sender = { channel: 'webhook' as ChannelKey, id: 'ada' };

class Bench implements SpendBook {
  readonly reserved: { charged: Charged; most: Tokens; limits: readonly SpendLimit[] }[] = [];
  readonly settled: [Tokens | null, Used | null][] = [];
  readonly told: string[] = [];
  readonly refused: string[] = [];
  answer: Reserving = { kind: 'reserved', sums: [] };

  async reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    this.reserved.push({ charged, most, limits });
    return this.answer;
  }

  settle(_charged: Charged, reserved: Tokens | null, used: Used | null): void {
    this.settled.push([reserved, used]);
  }

  budgetGuard(budget: Budget | null, whose: typeof sender | null = sender): BudgetGuard {
    const events: Pick<Events, 'modelSpent' | 'budgetReached' | 'budgetRefused'> = {
      modelSpent: ({ brain, model, used }) => this.told.push(`${brain} ${model} ${used.input}`),
      budgetRefused: ({ brain, limit }) => this.refused.push(`${brain} ${limit}`),
      budgetReached: ({ limit, state, day }) => this.told.push(`${limit} ${state} ${day}`),
    };
    const brain = { name: 'main', budget };
    return createBudgetGuard({ book: this, events, now: () => noon }, { brain, sender: whose });
  }
}

const most = { input: 60, output: 40 };
const used = { input: 30, output: 5, estimated: false };

function held(paying: Reserved | Unpaid): Reserved {
  assert.equal(paying.kind, 'reserved');
  return paying;
}

test('a model that costs nothing is answered for at once, and counted', () => {
  const bench = new Bench();
  const reserved = bench
    .budgetGuard({ ...none, tokensPerTurn: 1, tokensPerDay: 1 })
    .reserve(free, most);
  assert.ok(!(reserved instanceof Promise));
  reserved.settle(used);
  assert.deepEqual([bench.reserved, bench.settled], [[], [[null, used]]]);
  assert.deepEqual(bench.told, ['main local_runtime/small 30']);
});

test('what may be used is reserved under every limit of the day, and settled', async () => {
  const bench = new Bench();
  const budget = { ...none, tokensPerDay: 9, costPerDay: '0.5', tokensPerSenderPerDay: 7 };
  const reserved = held(await bench.budgetGuard(budget).reserve(paid, most));
  const [asked] = bench.reserved;
  assert.deepEqual(asked!.charged, { ...paid, day: '2026-11-27', brain: 'main', sender });
  assert.deepEqual(asked!.limits, [
    { kind: 'tokens_per_day', most: 9 },
    { kind: 'cost_per_day', most: '0.5' },
    { kind: 'tokens_per_sender_per_day', most: 7 },
  ]);
  reserved.settle(null);
  assert.deepEqual([bench.settled, bench.told], [[[most, null]], []], 'nothing was sent');
});

test('a trial has no sender, and so no limit of one', async () => {
  const bench = new Bench();
  await bench.budgetGuard({ ...none, tokensPerSenderPerDay: 7 }, null).reserve(paid, most);
  assert.deepEqual([bench.reserved[0]!.limits, bench.reserved[0]!.charged.sender], [[], null]);
});

test('over a day it opens at the next midnight, and that is told', async () => {
  const bench = new Bench();
  bench.answer = { kind: 'over', limit: { kind: 'tokens_per_day', most: 100 } };
  const answer = await bench.budgetGuard({ ...none, tokensPerDay: 100 }).reserve(paid, most);
  assert.deepEqual(answer, { kind: 'over_budget', opensAt: midnight });
  assert.deepEqual(bench.told, ['tokens_per_day used_up 2026-11-27']);
  assert.deepEqual(bench.refused, ['main tokens_per_day']);
});

test('what does not fit in a whole day is not put off to the next one', async () => {
  const bench = new Bench();
  const priced = { ...paid, price: { input: '1', output: '1' } };
  const opensAt = async (limit: SpendLimit) => {
    bench.answer = { kind: 'over', limit };
    const over = await bench.budgetGuard(none).reserve(priced, most);
    return over.kind === 'over_budget' && over.opensAt;
  };
  assert.equal(await opensAt({ kind: 'tokens_per_day', most: 99 }), null);
  assert.equal(await opensAt({ kind: 'tokens_per_sender_per_day', most: 99 }), null);
  assert.equal(await opensAt({ kind: 'cost_per_day', most: '0.000099' }), null);
  assert.equal(await opensAt({ kind: 'cost_per_day', most: '0.0001' }), midnight);
});

test('from four fifths on a limit is nearly used', async () => {
  const bench = new Bench();
  const cost = { kind: 'cost_per_day', most: '0.5' } as const;
  const tokens = { kind: 'tokens_per_day', most: 100 } as const;
  const sums = [
    { limit: cost, before: '0.4' },
    { limit: tokens, before: 79 },
  ];
  bench.answer = { kind: 'reserved', sums };
  await bench.budgetGuard({ ...none, tokensPerDay: 100, costPerDay: '0.5' }).reserve(paid, most);
  assert.deepEqual(bench.told, ['cost_per_day nearly_used 2026-11-27']);
});

test('the bound of a turn counts what is reserved and what was used', async () => {
  const bench = new Bench();
  const budgetGuard = bench.budgetGuard({ ...none, tokensPerTurn: 240 });
  const first = budgetGuard.reserve(paid, most);
  const second = budgetGuard.reserve(paid, most);
  const third = await budgetGuard.reserve(paid, most);
  assert.deepEqual(third, { kind: 'over_budget', opensAt: null });
  assert.deepEqual(bench.refused, ['main tokens_per_turn']);
  held(await second);
  held(await first).settle(used);
  held(await budgetGuard.reserve(paid, most));
  assert.equal((await budgetGuard.reserve(paid, most)).kind, 'over_budget');
});

test('what the ledger could not write is not paid for, and takes nothing of the turn', async () => {
  const bench = new Bench();
  const budgetGuard = bench.budgetGuard({ ...none, tokensPerTurn: 100 });
  bench.answer = { kind: 'unwritten' };
  assert.deepEqual(await budgetGuard.reserve(paid, most), { kind: 'unwritten' });
  bench.answer = { kind: 'reserved', sums: [] };
  held(await budgetGuard.reserve(paid, most));
});
