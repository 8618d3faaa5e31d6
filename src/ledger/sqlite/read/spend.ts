import type { DatabaseSync } from 'node:sqlite';
import type { SpendBy, SpendRow } from '../../../domain/spend.ts';
import { priceOf, spendRows, type SpendGroup } from '../../engine/spending.ts';

/** A key at one price. */
function groupsBy(by: SpendBy): string {
  const [which, channel] =
    by === 'sender' ? ["channel <> ''", 'channel'] : ["channel = ''", 'NULL'];
  return (
    `SELECT ${by} AS key, ${channel} AS channel, price_input, price_output, ` +
    'min(day) AS first_day, max(day) AS last_day, sum(calls) AS calls, ' +
    'sum(estimated_calls) AS estimated_calls, sum(input) AS input, sum(output) AS output, ' +
    'sum(input * costs) AS costing_input, sum(output * costs) AS costing_output, ' +
    'sum(open_input) AS open_input, sum(open_output) AS open_output FROM spend ' +
    `WHERE ${which} AND day >= ? ` +
    'AND calls + input + output + open_input + open_output > 0 ' +
    'GROUP BY 1, 2, price_input, price_output'
  );
}

export function readSpend(db: DatabaseSync, by: SpendBy, since: string): readonly SpendRow[] {
  const found = db.prepare(groupsBy(by)).iterate(since);
  return spendRows(
    found.map((row): SpendGroup => ({
      key: String(row['key']),
      channel: row['channel'] === null ? null : String(row['channel']),
      firstDay: String(row['first_day']),
      lastDay: String(row['last_day']),
      price: priceOf(String(row['price_input']), String(row['price_output'])),
      calls: Number(row['calls']),
      estimatedCalls: Number(row['estimated_calls']),
      input: Number(row['input']),
      output: Number(row['output']),
      costing: { input: Number(row['costing_input']), output: Number(row['costing_output']) },
      openInput: Number(row['open_input']),
      openOutput: Number(row['open_output']),
    })),
  );
}
