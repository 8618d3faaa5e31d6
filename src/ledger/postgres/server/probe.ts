/** Facts about a server, read without changing anything there. */
import type { Client } from 'pg';
import { migrationFiles, schemaState, schemaVersion, type SchemaState } from './migrations.ts';

export type ServerFacts = {
  /** As the server numbers itself: 150006 is 15.6. */
  readonly versionNumber: number;
  readonly version: string;
  /** Off: a power cut may lose acknowledged messages, or the whole database. */
  readonly fsync: boolean;
  /** `off`: a commit is acknowledged before it is on the disk. */
  readonly synchronousCommit: string;
  /** Off: a power cut may leave half a page, unless the file system writes whole pages. */
  readonly fullPageWrites: boolean;
  /** Commits wait for a standby, so that losing the server's machine loses nothing. */
  readonly synchronousStandby: boolean;
  readonly encoding: string;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Of this connection; a pooler's own connection to the server is not seen. */
  readonly isEncrypted: boolean;
  readonly schema: SchemaState['kind'];
  /** 0: there is none, or this user may not read it. */
  readonly schemaVersion: number;
  /** The right that the user lacks, as an administrator would grant it; null: none. */
  readonly missingRight: string | null;
  /** The size of all that svc has there. */
  readonly bytes: number;
  /** How many more connections this user may open. */
  readonly connectionsLeft: number;
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  readonly clockAheadMs: number;
};

/** Enough for the slowest server; a migration under way may lock a table for longer. */
const probeMs = 10_000;

type Settings = {
  number: number;
  version: string;
  fsync: boolean;
  sync: string;
  pages: boolean;
  standbys: string;
  encoding: string;
  standby: boolean;
  reading: boolean;
  left: number;
  clock: number;
};

const settings = `SELECT current_setting('server_version_num')::integer AS number,
  current_setting('server_version') AS version,
  current_setting('fsync')::boolean AS fsync,
  current_setting('synchronous_commit') AS sync,
  current_setting('full_page_writes')::boolean AS pages,
  current_setting('synchronous_standby_names') AS standbys,
  pg_encoding_to_char(d.encoding) AS encoding,
  pg_is_in_recovery() AS standby,
  current_setting('default_transaction_read_only')::boolean AS reading,
  least(
    current_setting('max_connections')::integer
      - current_setting('superuser_reserved_connections')::integer
      - coalesce(current_setting('reserved_connections', true), '0')::integer
      - (SELECT sum(numbackends) FROM pg_stat_database),
    CASE WHEN d.datconnlimit >= 0 THEN d.datconnlimit -
      (SELECT numbackends FROM pg_stat_database s WHERE s.datid = d.oid) END,
    CASE WHEN r.rolconnlimit >= 0 THEN r.rolconnlimit -
      (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid = r.oid) END
  )::integer AS left,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock
FROM pg_catalog.pg_database d, pg_catalog.pg_roles r
WHERE d.datname = current_database() AND r.rolname = current_user`;

const size = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'svc' AND c.relkind IN ('r', 'm')`;

/** @throws the server's error, also when it takes too long */
export async function probeFacts(client: Client): Promise<ServerFacts> {
  await client.query('BEGIN READ ONLY');
  try {
    await client.query(`SET LOCAL statement_timeout = ${probeMs}`);
    return await readFacts(client);
  } finally {
    await client.query('ROLLBACK').catch(() => {});
  }
}

async function readFacts(client: Client): Promise<ServerFacts> {
  const before = Date.now();
  const found = (await client.query<Settings>(settings)).rows[0]!;
  const now = (before + Date.now()) / 2;
  const { kind } = await schemaState(client);
  const { version, missingRight } = await rightsIn(client, kind);
  const { bytes } = (await client.query<{ bytes: number }>(size)).rows[0]!;
  const waits = !['off', 'local'].includes(found.sync);
  return {
    versionNumber: found.number,
    version: found.version,
    fsync: found.fsync,
    synchronousCommit: found.sync,
    fullPageWrites: found.pages,
    synchronousStandby: waits && found.standbys.trim() !== '',
    encoding: found.encoding,
    isStandby: found.standby,
    isReadOnly: found.reading,
    isEncrypted: isEncrypted(client),
    schema: kind,
    schemaVersion: version,
    missingRight,
    bytes,
    connectionsLeft: Math.max(0, found.left),
    clockAheadMs: Math.round(found.clock - now),
  };
}

type Rights = { readonly version: number; readonly missingRight: string | null };

async function rightsIn(client: Client, kind: SchemaState['kind']): Promise<Rights> {
  const has = async (test: string): Promise<boolean> =>
    (await client.query<{ has: boolean }>(`SELECT coalesce(${test}, false) AS has`)).rows[0]!.has;
  switch (kind) {
    case 'foreign':
      return { version: 0, missingRight: null };
    case 'none': {
      const may = await has("has_database_privilege(current_database(), 'CREATE')");
      return { version: 0, missingRight: may ? null : 'CREATE on the database' };
    }
    case 'empty':
    case 'ours':
      break;
    default:
      kind satisfies never;
  }
  const mayUse = await has("has_schema_privilege('svc', 'USAGE')");
  if (!mayUse) return { version: 0, missingRight: 'USAGE on the schema svc' };
  const lacking = kind === 'ours' ? await tableWithoutRights(client) : null;
  if (lacking !== null) {
    const all = 'SELECT, INSERT, UPDATE and DELETE';
    return { version: 0, missingRight: `${all} on the table svc.${lacking}` };
  }
  const version = kind === 'ours' ? await schemaVersion(client) : 0;
  const isCurrent = version >= migrationFiles().length;
  const mayMake = isCurrent || (await has("has_schema_privilege('svc', 'CREATE')"));
  return { version, missingRight: mayMake ? null : 'CREATE on the schema svc' };
}

async function tableWithoutRights(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT c.relname FROM pg_catalog.pg_class c
       JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'svc' AND c.relkind IN ('r', 'p') AND NOT (
       has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
       AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
     ORDER BY c.relname LIMIT 1`,
  );
  return rows[0]?.relname ?? null;
}

function isEncrypted(client: Client): boolean {
  // The types of the library lack this.
  const { connection } = client as unknown as { connection: { stream: { encrypted?: boolean } } };
  return connection.stream.encrypted === true;
}
