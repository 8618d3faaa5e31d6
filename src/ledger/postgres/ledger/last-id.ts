import type { Client } from 'pg';
import { wholeIdLength } from '../../engine/order/rows.ts';
import { lastIdKept } from './marks.ts';

/**
 * The newest id of a message or reply that was ever written down; empty: none was. The sweep leaves
 * the newest row of a table, and for what a person deletes there is a mark.
 */
export async function lastId(client: Client): Promise<string> {
  const tables = ['inbox', 'message', 'outbox', 'sent'];
  const newest = tables.map((table) => `(SELECT max(id) FROM svc.${table})`);
  const given = [...newest, `(${lastIdKept})`].join(', ');
  const { rows } = await client.query(`SELECT greatest(${given}) AS id`);
  return String(rows[0]?.['id'] ?? '').slice(0, wholeIdLength);
}
