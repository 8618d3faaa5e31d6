/** The server's plan of a statement, without running the statement. */
import type { Client } from 'pg';
import type { Query } from '../../src/ledger/postgres/write/statement.ts';

export type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
};

/** Every node of the statement's plan, the outermost first. */
export async function planOf(
  client: Client,
  { text, values }: Query,
): Promise<readonly PlanNode[]> {
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`, [...values]);
  return nodesIn(rows[0]['QUERY PLAN'][0].Plan as PlanNode);
}

function nodesIn(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesIn)];
}

/** The tables that a statement reads whole. */
export async function tablesReadWhole(client: Client, asked: Query): Promise<readonly string[]> {
  const nodes = await planOf(client, asked);
  return nodes.flatMap((node) => {
    const table = node['Relation Name'];
    return node['Node Type'] === 'Seq Scan' && table !== undefined ? [table] : [];
  });
}

/**
 * Stops automatic statistics: from here on only ANALYZE gathers them. The server may gather them at
 * any moment. Between its VACUUM and its ANALYZE of a table it knows the number of rows, but not
 * their values. A plan of that moment would depend on chance.
 */
export async function gatherOnlyWhenTold(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' " +
      "AND relnamespace = 'svc'::regnamespace",
  );
  for (const { name } of rows) {
    await client.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
  }
}
