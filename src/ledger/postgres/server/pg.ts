/** Loads the client package where a server is used. */
import type pg from 'pg';

export async function loadPg(): Promise<typeof pg> {
  return (await import('pg')).default;
}
