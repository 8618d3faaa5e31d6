import { budgetsSummary, spendDaysMax, spendDaysUsual, spendSummary } from '../../admin/spend.ts';
import { spendKeys } from '../../domain/spend.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wholeNumber, wrongUsage } from '../frame/flags.ts';
import { locateLedger, reading } from './access.ts';
import { spendPage } from './spend-page.ts';

const flagTable = {
  by: { type: 'string', values: spendKeys },
  days: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const daysRange = `1 to ${spendDaysMax} (default: ${spendDaysUsual})`;

export const spend: Command = {
  name: 'spend',
  summary: 'Tell what calls to models used and cost',
  usage: `Usage: svc spend [--by <what>] [--days <n>] [--config <file>] [--json]

Tells what calls to models used: how many there were, their tokens in and out, and what these cost
by the prices of the configuration, in your currency. Every call counts, also retries, models that
were asked in vain, and trials. "about" stands before tokens of which some are estimated, since a
provider told none. Reserved are the most tokens of calls whose end was never seen, or is still to
come. Below stands how full the budgets of brains are today.

  --by <what>      add up by model (the default), brain, sender or day
  --days <n>       of so many days, today among them, ${daysRange}
  --config <file>  the configuration file (default: svc.json)
  --json           print {"by", "since", "rows", "total", "budgets"}

With storage it is read from the database, whether svc runs or not; without, from the running svc.
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
  return reading(place, async (reader) => {
    const now = Date.now();
    const told = await spendSummary(reader, by, days, now);
    const { rows: budgets } = await budgetsSummary(reader, place.config.brains, now);
    const found = { ...told, budgets };
    io.stdout.write(json ? `${plainJson(found, 2)}\n` : spendPage(told, budgets));
    return exitCode.fine;
  });
}
