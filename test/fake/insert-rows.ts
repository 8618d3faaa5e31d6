/** Inserts rows into tables of PostgreSQL by column names. */
import type { Client } from 'pg';

export type Row = Readonly<Record<string, string | number | boolean | null>>;

export async function insertRows(
  client: Client,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const names = Object.keys(rows[0] ?? {}).join(', ');
  for (let from = 0; from < rows.length; from += 1_000) {
    const some = JSON.stringify(rows.slice(from, from + 1_000));
    const set = `json_populate_recordset(NULL::svc.${table}, $1)`;
    await client.query(`INSERT INTO svc.${table} (${names}) SELECT ${names} FROM ${set}`, [some]);
  }
}
