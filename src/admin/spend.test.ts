/** Spend and budgets over the API, by the ledger's numbers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { own, right, startWalk } from '../../test/admin/walk.ts';
import { ids } from '../../test/fake/admin-ledger.ts';
import { spentBy } from '../../test/fake/admin-spend.ts';
import type { SpendRow } from '../domain/spend.ts';
import { localDay, localDayBefore } from '../lib/local-day.ts';
import { budgetsSummary, spendSummary } from './spend.ts';

type Walk = Awaited<ReturnType<typeof startWalk>>;

async function get({ admin }: Walk, path: string, ...more: string[]) {
  const { status, body } = await admin.send('GET', `/api/v1/${path}`, [own, ...more]);
  return { status, told: JSON.parse(body) as Record<string, unknown>, body };
}

const reading = (rows: readonly SpendRow[]) => ({ spent: async () => rows });

test('spend is told by model of thirty days, and by what is asked for', async () => {
  await using started = await startWalk();
  const { world } = started;
  const usual = await get(started, 'spend');
  assert.deepEqual(
    [usual.told['by'], usual.told['since']],
    ['model', localDayBefore(1_000_000, 29)],
  );
  assert.deepEqual(usual.told['rows'], [spentBy('model')]);
  const {
    key: _key,
    channel: _channel,
    firstDay: _first,
    lastDay: _last,
    ...sums
  } = spentBy('day');
  assert.deepEqual(usual.told['total'], sums);
  world.calls.length = 0;
  for (const by of ['day', 'brain', 'model']) {
    assert.equal((await get(started, `spend?by=${by}&days=400`)).told['by'], by);
  }
  const since = localDayBefore(1_000_000, 399);
  const asked = ['day', 'day', 'brain', 'day', 'model'].map((by) => ['spent', by, since]);
  assert.deepEqual(world.calls, asked);
  for (const wrong of ['days=0', 'days=401', 'by=week', 'by=sender', 'since=2026-01-01']) {
    assert.equal((await get(started, `spend?${wrong}`)).status, 400, wrong);
  }
});

test('who spent it is told to the operator alone', async () => {
  await using started = await startWalk();
  const { status, body } = await get(started, 'spend/senders?days=1');
  assert.equal(status, 401);
  assert.ok(!body.includes(ids.sender));
  const { told } = await get(started, 'spend/senders?days=1', right);
  assert.deepEqual(told['rows'], [spentBy('sender')]);
});

test('however many ask, the ledger is read once in a while, but for senders', async () => {
  await using started = await startWalk();
  const { world } = started;
  const asked = async (path: string): Promise<number> => {
    world.calls.length = 0;
    assert.equal((await get(started, path, right)).status, 200);
    return world.calls.length;
  };
  assert.deepEqual([await asked('spend'), await asked('spend?by=model&days=30')], [2, 0]);
  world.clockMs += 5_000;
  assert.equal(await asked('spend'), 2);
  assert.deepEqual([await asked('spend/senders'), await asked('spend/senders')], [2, 2]);
});

test('days come newest first, and the total is of all of them, exactly', async () => {
  const row = (key: string, cost: string | null): SpendRow => ({ ...spentBy('day'), key, cost });
  const days = [row('2026-01-02', '0.1'), row('2026-01-03', '0.2'), row('2026-01-01', null)];
  const { rows, total } = await spendSummary(reading(days), 'day', 3, Date.now());
  assert.deepEqual(
    rows.map(({ key }) => key),
    ['2026-01-03', '2026-01-02', '2026-01-01'],
  );
  assert.equal(total.cost, '0.3');
  assert.deepEqual([total.calls, total.tokens.input], [9, 3_720]);
  assert.equal((await spendSummary(reading([]), 'model', 3, Date.now())).total.cost, null);
});

test('a budget is as full as what models that cost used and reserved today', async () => {
  await using started = await startWalk();
  started.world.calls.length = 0;
  const { told } = await get(started, 'spend/budgets');
  assert.deepEqual(started.world.calls, [['spent', 'brain', localDay(1_000_000)]]);
  const each = { used: null, reserved: null, percent: null };
  assert.deepEqual(told, {
    day: localDay(1_000_000),
    rows: [
      {
        brain: 'main',
        limits: [
          { limit: 'tokens_per_turn', most: '2000', ...each },
          { limit: 'tokens_per_day', most: '1000', used: '250', reserved: '150', percent: 40 },
          { limit: 'cost_per_day', most: '0.5', used: '0.0012', reserved: '0.0004', percent: 0 },
          { limit: 'tokens_per_sender_per_day', most: '500', ...each },
        ],
      },
    ],
  });
});

test('a budget of nothing is full, and one that is nearly used up is not', async () => {
  const only = { tokensPerTurn: null, costPerDay: null, tokensPerSenderPerDay: null };
  const percent = async (tokensPerDay: number, rows: readonly SpendRow[]): Promise<unknown> => {
    const brains = [{ name: 'main', budget: { ...only, tokensPerDay } }];
    return (await budgetsSummary(reading(rows), brains, 0)).rows[0]?.limits[0]?.percent;
  };
  assert.equal(await percent(0, []), 100);
  assert.equal(await percent(401, [spentBy('brain')]), 99);
  assert.equal(await percent(400, [spentBy('brain')]), 100);
  assert.equal(await percent(400, []), 0);
});

test('without a budget the ledger is not asked', async () => {
  const reader = { spent: () => Promise.reject(new Error('it was asked')) };
  assert.deepEqual((await budgetsSummary(reader, [{ name: 'main', budget: null }], 0)).rows, []);
});
