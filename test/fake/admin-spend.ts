/** The spend rows for the tests of the admin API: one row for each grouping. */
import type { ChannelKey } from '../../src/domain/ids.ts';
import type { Budget, SpendBy, SpendRow } from '../../src/domain/spend.ts';

/** A spend row, with the keys of the other rows. */
export function spentBy(by: SpendBy): SpendRow {
  const keys: Readonly<Record<SpendBy, string>> = {
    day: '1970-01-01',
    brain: 'main',
    model: 'local_runtime/small',
    sender: 'sender-4711',
  };
  return {
    key: keys[by],
    channel: by === 'sender' ? ('webhook' as ChannelKey) : null,
    calls: 3,
    tokens: { input: 1_240, output: 80 },
    costing: { input: 240, output: 10 },
    estimatedCalls: 1,
    open: { input: 100, output: 50 },
    cost: '0.0012',
    openCost: '0.0004',
    firstDay: '1970-01-01',
    lastDay: '1970-01-01',
  };
}

/** The budget of the brain `main`. */
export const budget: Budget = {
  tokensPerTurn: 2_000,
  tokensPerDay: 1_000,
  costPerDay: '0.5',
  tokensPerSenderPerDay: 500,
};
