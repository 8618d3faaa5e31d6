/** A connection to the server that takes writes. */
import type { Client } from 'pg';
import { loadPg } from './pg.ts';

/** @throws what the server or the system says */
export async function connect(url: string): Promise<Client> {
  const { Client: Connection } = await loadPg();
  const client = new Connection({ connectionString: url, pipeline: true } as object);
  await client.connect();
  return client;
}
