/** Starts a server to measure on: Debian's, on the disk, with its default settings. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import { PostgresServer } from '../../test/fake/postgres/server.ts';
import { serverCpuSecondsOf } from '../cpu-time.ts';

/** The defaults; the server of the tests has less. The WAL size avoids checkpoints. */
const settings = { shared_buffers: '128MB', max_wal_size: '4GB', fsync: 'on' };

/** @param more further settings */
export function startServer(more: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  return PostgresServer.start({ inFolder: tmpdir(), settings: { ...settings, ...more } });
}

/** The server's counters since its start. */
export type ServerCount = {
  readonly at: number;
  readonly cpuUs: number;
  readonly walBytes: number;
  readonly batches: number;
};

export async function countServer(server: PostgresServer, client: Client): Promise<ServerCount> {
  const { rows } = await client.query<Record<'wal' | 'batches', number>>(
    "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint AS wal, " +
      '(SELECT sum(grp) FROM svc.instance)::bigint AS batches',
  );
  const { wal, batches } = rows[0]!;
  const cpuUs = 1e6 * serverCpuSecondsOf(join(server.folder, 'data'));
  return { at: performance.now(), cpuUs, walBytes: wal, batches };
}
