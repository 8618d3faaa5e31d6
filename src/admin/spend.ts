/** Summaries of spend and budgets, for the API and `svc spend`. */
import { compareAmounts, sumOf } from '../domain/money.ts';
import type { BrainConfig } from '../config/config.ts';
import type { Budget, SpendBy, SpendRow, Spent, Tokens } from '../domain/spend.ts';
import { localDay, localDayBefore } from '../lib/local-day.ts';
import type { LedgerReader } from '../ledger/ledger.ts';

/** The ledger stores no more days. */
export const spendDaysMax = 400;
export const spendDaysUsual = 30;

/** `since`: its first local day. `total` is all spend since then, even if the rows are cut. */
export type SpendSummary = {
  readonly by: SpendBy;
  readonly since: string;
  readonly rows: readonly SpendRow[];
  readonly total: Spent;
};

/** The limits of a budget, by their names in a configuration. */
export const budgetLimits = [
  'tokens_per_turn',
  'tokens_per_day',
  'cost_per_day',
  'tokens_per_sender_per_day',
] as const;

/**
 * The state of one limit today. Numbers are decimal text. `used`, `reserved` and `percent` (of
 * both, a whole number) are null for a limit of each turn or each sender.
 */
export type LimitSummary = {
  readonly limit: (typeof budgetLimits)[number];
  readonly most: string;
  readonly used: string | null;
  readonly reserved: string | null;
  readonly percent: number | null;
};

export type BudgetSummary = { readonly brain: string; readonly limits: readonly LimitSummary[] };

/** Today (a local day), and every brain with a budget. */
export type BudgetsSummary = { readonly day: string; readonly rows: readonly BudgetSummary[] };

/**
 * Days come newest first, everything else in the ledger's order.
 * @param days how many local days, including that of `now`
 * @param now milliseconds since 1970
 * @throws ReadFailed
 */
export async function spendSummary(
  reader: Pick<LedgerReader, 'spent'>,
  by: SpendBy,
  days: number,
  now: number,
): Promise<SpendSummary> {
  const since = localDayBefore(now, days - 1);
  const byDay = reader.spent('day', since);
  const [ofDays, rows] = await Promise.all([byDay, by === 'day' ? byDay : reader.spent(by, since)]);
  const shown = by === 'day' ? rows.toSorted((a, b) => (a.key < b.key ? 1 : -1)) : rows;
  return { by, since, rows: shown, total: totalOf(ofDays) };
}

/**
 * @param brains of the configuration in use
 * @param now milliseconds since 1970
 * @throws ReadFailed
 */
export async function budgetsSummary(
  reader: Pick<LedgerReader, 'spent'>,
  brains: readonly Pick<BrainConfig, 'name' | 'budget'>[],
  now: number,
): Promise<BudgetsSummary> {
  const day = localDay(now);
  const limited = brains.flatMap(({ name, budget }) => (budget === null ? [] : [{ name, budget }]));
  if (limited.length === 0) return { day, rows: [] };
  const spent = await reader.spent('brain', day);
  const rows = limited.map(({ name, budget }) => {
    const today = spent.find(({ key }) => key === name) ?? totalOf([]);
    return { brain: name, limits: limitsOf(budget, today) };
  });
  return { day, rows };
}

function limitsOf(budget: Budget, today: Spent): readonly LimitSummary[] {
  const { costing, open, cost, openCost } = today;
  const limits = [
    eachOf('tokens_per_turn', budget.tokensPerTurn),
    ofToday('tokens_per_day', budget.tokensPerDay, both(costing), both(open)),
    ofToday('cost_per_day', budget.costPerDay, cost, openCost),
    eachOf('tokens_per_sender_per_day', budget.tokensPerSenderPerDay),
  ];
  return limits.filter((limit) => limit !== null);
}

function eachOf(limit: LimitSummary['limit'], most: number | null): LimitSummary | null {
  if (most === null) return null;
  return { limit, most: String(most), used: null, reserved: null, percent: null };
}

function ofToday(
  limit: LimitSummary['limit'],
  most: number | string | null,
  used: string | null,
  reserved: string | null,
): LimitSummary | null {
  if (most === null) return null;
  const taken = used ?? '0';
  const held = reserved ?? '0';
  const percent = percentOf(sumOf(taken, held), String(most));
  return { limit, most: String(most), used: taken, reserved: held, percent };
}

/** Rounded down, so 100 means that nothing more fits. */
function percentOf(part: string, whole: string): number {
  if (compareAmounts(part, whole) >= 0 && compareAmounts(whole, '0') <= 0) return 100;
  return Math.floor((Number(part) / Number(whole)) * 100);
}

const both = ({ input, output }: Tokens): string => String(input + output);

function totalOf(rows: readonly Spent[]): Spent {
  const sum = (of: (row: Spent) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const tokens = (of: (row: Spent) => Tokens): Tokens => ({
    input: sum((row) => of(row).input),
    output: sum((row) => of(row).output),
  });
  return {
    calls: sum(({ calls }) => calls),
    tokens: tokens((row) => row.tokens),
    costing: tokens(({ costing }) => costing),
    estimatedCalls: sum(({ estimatedCalls }) => estimatedCalls),
    open: tokens(({ open }) => open),
    cost: costOf(rows.map(({ cost }) => cost)),
    openCost: costOf(rows.map(({ openCost }) => openCost)),
  };
}

/** null: no part has a price. */
function costOf(costs: readonly (string | null)[]): string | null {
  const priced = costs.filter((cost) => cost !== null);
  return priced.length === 0 ? null : sumOf(...priced);
}
