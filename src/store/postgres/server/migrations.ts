/** The schema's history: numbered SQL files, each applied once, in order, in one transaction. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from 'pg';

const folder = new URL('./migrations/', import.meta.url);

export async function migrate(client: Client): Promise<void> {
  await client.query('BEGIN');
  await client.query("SELECT pg_advisory_xact_lock(hashtext('svc'))");
  await client.query('CREATE SCHEMA IF NOT EXISTS svc');
  await client.query('CREATE TABLE IF NOT EXISTS svc.schema (version integer NOT NULL)');
  const { rows } = await client.query('SELECT version FROM svc.schema');
  const version = Number(rows[0]?.['version'] ?? 0);
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  for (const [index, name] of files.sort().entries()) {
    if (index < version) continue;
    await client.query(readFileSync(new URL(name, folder), 'utf8'));
  }
  await client.query('DELETE FROM svc.schema');
  await client.query('INSERT INTO svc.schema VALUES ($1)', [files.length]);
  await client.query('COMMIT');
}
