/** `svc spend`: shows the usage and the cost of calls to models, and today's budgets. */
import {
  budgetsSummary,
  spendDaysMax,
  spendDaysUsual,
  spendSummary,
  type BudgetSummary,
  type SpendSummary,
} from '../../admin/spend.ts';
import { spendKeys, type SpendBy, type SpendRow, type Spent } from '../../domain/spend.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wholeNumber, wrongUsage } from '../frame/flags.ts';
import { locateLedger, withReader } from './access.ts';
import { channelName } from '../../channels/registry.ts';
import { formatModelName } from '../../domain/model-words.ts';
import { left, right, table } from './table.ts';

const flagTable = {
  by: { type: 'string', values: spendKeys },
  days: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const daysRange = `1 to ${spendDaysMax} (default: ${spendDaysUsual})`;

export const spend: Command = {
  name: 'spend',
  summary: 'Show what calls to models used and cost',
  usage: `Usage: svc spend [--by <what>] [--days <n>] [--config <file>] [--json]

Shows calls to models, their tokens in and out, and their cost by the prices of the configuration,
in your currency. Every call counts, also retries, calls without an answer, and trials. "about"
before a number means that svc estimated a part, since a provider reported no tokens. "reserved" is
the most that a call may use while svc has not seen its end. Below, it shows how full the budgets of
brains are today.

  --by <what>      add up by model (the default), brain, sender or day
  --days <n>       of so many days, today among them, ${daysRange}
  --config <file>  the configuration file (default: svc.json)
  --json           print {"by", "since", "rows", "total", "budgets"}

With storage it reads the database, whether svc runs or not. Without, it asks the running svc.
`,
  flags: flagTable,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const { name } = spend;
  const parsed = parseFlags(args, flagTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { by: given, days: written, config, json } = parsed.flags;
  const by = given === null ? 'model' : spendKeys.find((key) => key === given);
  if (by === undefined) {
    return wrongUsage(io, name, `--by is one of ${spendKeys.join(', ')}; "${given}" is none.`);
  }
  const days = written === null ? spendDaysUsual : wholeNumber(written, 1, spendDaysMax);
  if (days === null) {
    const message = `--days is a number from 1 to ${spendDaysMax}; "${written}" is none.`;
    return wrongUsage(io, name, message);
  }
  const place = await locateLedger(config, io);
  if (typeof place === 'number') return place;
  return withReader(place, async (reader) => {
    const now = Date.now();
    const summary = await spendSummary(reader, by, days, now);
    const { rows: budgets } = await budgetsSummary(reader, place.config.brains, now);
    const result = { ...summary, budgets };
    io.stdout.write(json ? `${plainJson(result, 2)}\n` : spendPage(summary, budgets));
    return exitCode.fine;
  });
}

/** The usage and the cost for a person at a terminal, and today's budgets below. */
export function spendPage(summary: SpendSummary, budgets: readonly BudgetSummary[]): string {
  const parts = [rowsPage(summary), ...(budgets.length === 0 ? [] : [budgetsPage(budgets)])];
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
