/** Faults of budgets that only show between concurrent calls: reserving money, and releasing it. */
import type { Fault } from './fault.ts';

const seenBy = ['test/chaos/spend.ts'];

export const spend: readonly Fault[] = [
  {
    name: 'Only the first call of a turn is reserved: no retry, no loser, no step of an agent.',
    file: 'src/pipeline/budget-guard.ts',
    find: 'return payable.costs ? this.#reserveTokens(charged, most)',
    replace: 'return payable.costs && this.#turnTokens === 0 ? this.#reserveTokens(charged, most)',
    seenBy,
  },
  {
    name: 'A call that is over gives back what another one has reserved, too.',
    file: 'src/ledger/engine/spending.ts',
    find: 'openInput: 0 - (reserved?.input ?? 0),',
    replace: 'openInput: 0 - 2 * (reserved?.input ?? 0),',
    seenBy,
  },
  {
    name: "Tokens from a provider's cache cost as much as all others.",
    file: 'src/ledger/engine/spending.ts',
    find: 'const fromCache = Math.min(used?.cached ?? 0, used?.input ?? 0);',
    replace: 'const fromCache = Math.min(0, used?.input ?? 0);',
    seenBy: ['test/ledger/memory.test.ts'],
  },
  {
    name: 'Two instances that reserve at once each find the room of the other.',
    file: 'src/ledger/postgres/ledger/reservations.ts',
    find: 'SELECT pg_advisory_xact_lock(key) FROM (',
    replace: 'SELECT key FROM (',
    seenBy,
  },
];
