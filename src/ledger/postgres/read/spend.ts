import type { ChannelKey } from '../../../domain/ids.ts';
import { sumOf } from '../../../domain/money.ts';
import type { SpendBy, SpendRow } from '../../../domain/spend.ts';
import { spendRowsMax } from '../../engine/spending.ts';
import { fromText } from '../server/text.ts';
import { num, type Ask } from './ask.ts';

/** Exact: the server's numbers of this type have as many digits as they need. */
const costOf = (input: string, output: string): string =>
  `sum(${input} * nullif(price_input, '')::numeric ` +
  `+ ${output} * nullif(price_output, '')::numeric) * 0.000001`;

function rowsBy(by: SpendBy): string {
  const [which, channel] =
    by === 'sender' ? ["channel <> ''", 'channel'] : ["channel = ''", 'NULL'];
  const costing = (name: string): string =>
    num(`coalesce(sum(${name}) FILTER (WHERE costs), 0)`, `costing_${name}`);
  const sums = ['calls', 'estimated_calls', 'input', 'output', 'open_input', 'open_output'];
  return (
    `SELECT ${by} AS key, ${channel} AS channel, min(day) AS "firstDay", max(day) AS "lastDay", ` +
    `${sums.map((name) => num(`sum(${name})`, name)).join(', ')}, ` +
    `${costing('input')}, ${costing('output')}, ` +
    `(${costOf('input', 'output')})::text AS cost, ` +
    `(${costOf('open_input', 'open_output')})::text AS "openCost" FROM svc.spend ` +
    `WHERE ${which} AND day >= $1 ` +
    'AND calls + input + output + open_input + open_output > 0 GROUP BY 1, 2 ' +
    `ORDER BY ${costOf('input', 'output')} DESC NULLS LAST, sum(input + output) DESC, 2, 1 ` +
    `LIMIT ${spendRowsMax}`
  );
}

type Found = {
  readonly key: string;
  readonly channel: ChannelKey | null;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly calls: number;
  readonly estimated_calls: number;
  readonly input: number;
  readonly output: number;
  readonly costing_input: number;
  readonly costing_output: number;
  readonly open_input: number;
  readonly open_output: number;
  readonly cost: string | null;
  readonly openCost: string | null;
};

export async function readSpend(
  ask: Ask,
  by: SpendBy,
  since: string,
): Promise<readonly SpendRow[]> {
  const found = await ask<Found>(rowsBy(by), since);
  return found.map(({ key, channel, firstDay, lastDay, calls, cost, openCost, ...sums }) => ({
    key: fromText(key),
    channel,
    firstDay,
    lastDay,
    calls,
    estimatedCalls: sums.estimated_calls,
    tokens: { input: sums.input, output: sums.output },
    costing: { input: sums.costing_input, output: sums.costing_output },
    open: { input: sums.open_input, output: sums.open_output },
    cost: cost === null ? null : sumOf(cost),
    openCost: openCost === null ? null : sumOf(openCost),
  }));
}
