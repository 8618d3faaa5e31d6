/** What was spent as a person reads it at a terminal, and the budgets of today below it. */
import type { BudgetSummary, SpendSummary } from '../../admin/spend.ts';
import { channelName } from '../../channels/registry.ts';
import { formatModelName } from '../../domain/model-words.ts';
import type { SpendBy, SpendRow, Spent } from '../../domain/spend.ts';
import { left, right, table } from './table.ts';

export function spendPage(told: SpendSummary, budgets: readonly BudgetSummary[]): string {
  const parts = [rowsPage(told), ...(budgets.length === 0 ? [] : [budgetsPage(budgets)])];
  return parts.join('\n');
}

function rowsPage({ by, since, rows, total }: SpendSummary): string {
  if (rows.length === 0 && total.calls === 0) return `No model was called since ${since}.\n`;
  const isPriced = [...rows, total].some(({ cost, openCost }) => cost ?? openCost);
  const names = by === 'sender' ? [left('channel'), left('sender')] : [left(by)];
  const columns = [
    ...names,
    right('calls'),
    right('tokens in'),
    right('tokens out'),
    right('estimated'),
    right('reserved'),
    ...(isPriced ? [right('cost'), right('cost reserved')] : []),
  ];
  const cells = (row: Spent): readonly string[] => {
    const all = spentCells(row);
    return isPriced ? [...all, row.cost ?? '', row.openCost ?? ''] : all;
  };
  const last = names.map((_, at) => (at === 0 ? 'in all' : ''));
  return table(columns, [
    ...rows.map((row) => [...nameCells(by, row), ...cells(row)]),
    [...last, ...cells(total)],
  ]);
}

function nameCells(by: SpendBy, { key, channel }: SpendRow): readonly string[] {
  switch (by) {
    case 'sender':
      return [channel === null ? '' : channelName(channel), key];
    case 'model':
      return [formatModelName(key)];
    case 'brain':
    case 'day':
      return [key];
    default:
      return by satisfies never;
  }
}

function spentCells({ calls, tokens, estimatedCalls, open }: Spent): readonly string[] {
  const reserved = open.input + open.output;
  const about = estimatedCalls === 0 ? '' : 'about ';
  return [
    String(calls),
    `${about}${tokens.input}`,
    `${about}${tokens.output}`,
    estimatedCalls === 0 ? '' : `${estimatedCalls} of ${calls}`,
    reserved === 0 ? '' : String(reserved),
  ];
}

function budgetsPage(budgets: readonly BudgetSummary[]): string {
  const rows = budgets.flatMap(({ brain, limits }) =>
    limits.map(({ limit, most, used, reserved, percent }) => [
      brain,
      limit,
      most,
      used ?? '',
      reserved === null || reserved === '0' ? '' : reserved,
      percent === null ? '' : `${percent} %`,
    ]),
  );
  const columns = [
    left('brain'),
    left('budget'),
    right('at most'),
    right('used today'),
    right('reserved'),
    right('full'),
  ];
  return table(columns, rows);
}
