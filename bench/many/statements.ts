/** Reads the costs of statements from the server (`pg_stat_statements`). */
import type { Client } from 'pg';

export const withStatements = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
  'pg_stat_statements.max': '1000',
};

/** Each pattern matches words that no other statement has. */
const named: readonly (readonly [name: string, holds: RegExp])[] = [
  ['accept: the key', /INTO svc\.dedupe/],
  ['accept: the lane', /INTO svc\.lane/],
  ['accept: the message', /INTO svc\.inbox/],
  ['the history is read', /lane\.started_at/],
  ['the end of the turn', /DELETE FROM svc\.inbox/],
  ['delivery', /DELETE FROM svc\.outbox/],
  ['release', /x\.tail = lane\.tail OR x\.given/],
  ['beat: news', /FROM svc\.board/],
  ['beat: take what waits', /\(channel, conversation\) > \(/],
  ['beat: take what is due', /parked AND due_at <=/],
  ['beat of the keeper: lost lanes', /WITH seen AS/],
];
export const costNames = named.map(([name]) => name);

/** `us`: microseconds of planning and executing; `pages`: pages read from the cache or the disk. */
export type Cost = { readonly us: number; readonly pages: number };

export async function forgetCosts(client: Client): Promise<void> {
  await client.query('SELECT pg_stat_statements_reset()');
}

/** Costs since the last reset: of one call of each named statement, and of all statements. */
export async function readCosts(
  client: Client,
): Promise<{ readonly named: ReadonlyMap<string, Cost>; readonly all: Cost }> {
  const { rows } = await client.query<Cost & { readonly query: string; readonly calls: number }>(
    'SELECT query, calls, 1e3 * (total_plan_time + total_exec_time) AS us, ' +
      'shared_blks_hit + shared_blks_read AS pages FROM pg_stat_statements ' +
      "WHERE query NOT LIKE '%pg_stat_statements%' " +
      'AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())',
  );
  const sum = (some: typeof rows, of: 'calls' | 'us' | 'pages'): number =>
    some.reduce((all, one) => all + one[of], 0);
  const each = named.flatMap(([name, holds]) => {
    const own = rows.filter(({ query }) => holds.test(query));
    const calls = sum(own, 'calls');
    const cost = { us: sum(own, 'us') / calls, pages: sum(own, 'pages') / calls };
    return calls === 0 ? [] : [[name, cost] as const];
  });
  return { named: new Map(each), all: { us: sum(rows, 'us'), pages: sum(rows, 'pages') } };
}
