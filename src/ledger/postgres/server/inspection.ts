/**
 * What commands can learn about the server of a URL. It changes nothing there, and blocks nobody.
 */
import type { Client } from 'pg';
import type { TLSSocket } from 'node:tls';
import type { StoreProblem } from '../../ledger.ts';
import { readAddress, type ServerAddress } from './address.ts';
import { connect, cut } from './connect.ts';
import { probeFacts } from './probe.ts';
import { migrationFiles } from './migrations.ts';
import { problemOf, refusalOf, versionMin } from './problem.ts';

export type ServerProbe = {
  readonly kind: 'looked';
  /** Which of the URL's hosts answered, for people: `db.example:5432`. */
  readonly host: string;
  /** As the server names it: `15.6`. */
  readonly version: string;
  /** Whether it is new enough for svc. */
  readonly isKnown: boolean;
  /** The protocol of the connection, `TLSv1.3`; null: it is not encrypted. */
  readonly tls: string | null;
  /** Sentences about what the URL gives up. None repeats a secret. */
  readonly warnings: readonly string[];
  /** svc needs `UTF8`. */
  readonly encoding: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  /** `on`, `off`, `local`, `remote_write`, `remote_apply`. */
  readonly synchronousCommit: string;
  /** Standbys that a commit waits for now; null: this user may not see them. */
  readonly synchronousStandbys: number | null;
  /**
   * The right that the user lacks, as the end of a sentence: `may not make a schema`; null: none.
   */
  readonly lacking: string | null;
  /** The size of all that svc has there. */
  readonly bytes: number;
  /** The version of svc's tables; null: none were made yet. */
  readonly schema: number | null;
  /** How many steps they are older than this program's; below 0: newer. */
  readonly stepsBehind: number;
  /** A svc that runs on the database now; null: none. */
  readonly owner: { readonly version: string; readonly heartbeatAgoMs: number } | null;
  /** When the newest message was accepted, milliseconds since 1970; null: there is none. */
  readonly newestAt: number | null;
};

type ServerDetails = Pick<ServerProbe, 'synchronousStandbys' | 'owner' | 'newestAt'>;

/** @returns a problem when the server cannot be inspected */
export async function probeServer(url: string): Promise<ServerProbe | StoreProblem> {
  return onServer(url, async (client, address) => {
    const facts = await probeFacts(client);
    const hasTables = facts.schema === 'ours' && facts.missingRight === null;
    const schema = hasTables ? facts.schemaVersion : null;
    const details = await detailsOf(client, hasTables);
    return {
      kind: 'looked',
      host: `${client.host}:${client.port}`,
      version: facts.version,
      isKnown: facts.versionNumber >= versionMin * 10_000,
      tls: protocolOf(client),
      warnings: address.warnings,
      encoding: facts.encoding,
      fsync: facts.fsync,
      fullPageWrites: facts.fullPageWrites,
      synchronousCommit: facts.synchronousCommit,
      lacking: facts.missingRight === null ? null : `lacks ${facts.missingRight}`,
      bytes: facts.bytes,
      schema,
      stepsBehind: schema === null ? 0 : migrationFiles().length - schema,
      ...details,
    };
  });
}

/**
 * Why this program cannot read the database as it is: the server is away, svc has made no tables
 * there (`storage_missing`), or they are older (`storage_older`) or newer (`storage_newer_schema`).
 * @returns null: it can
 */
export async function schemaProblem(url: string): Promise<StoreProblem | null> {
  return onServer<StoreProblem | null>(url, async (client, address) => {
    const facts = await probeFacts(client);
    const where = String(address);
    if (facts.schema === 'none' || facts.schema === 'empty') {
      const message = `svc has made no tables in the ${where} yet: its first run does.`;
      return { kind: 'problem', code: 'storage_missing', message, isPassing: false };
    }
    const refusal = refusalOf(facts, where);
    if (refusal !== null || facts.schemaVersion >= migrationFiles().length) return refusal;
    const message = `The ${where} was written by an older svc; a start of this one updates it.`;
    return { kind: 'problem', code: 'storage_older', message, isPassing: false };
  });
}

/**
 * Opens a connection, runs `act` on it, and ends it.
 * @param signal stops it
 * @returns a problem when the server cannot be used
 */
export async function onServer<T>(
  url: string,
  act: (client: Client, address: ServerAddress) => Promise<T>,
  signal?: AbortSignal,
): Promise<T | StoreProblem> {
  const address = readAddress(url);
  if (address.kind === 'problems') {
    const message = address.problems.join(' ');
    return { kind: 'problem', code: 'storage_url', message, isPassing: false };
  }
  try {
    const client = await connect(address, signal === undefined ? {} : { signal });
    const giveUp = (): void => cut(client);
    signal?.addEventListener('abort', giveUp);
    try {
      return await act(client, address);
    } finally {
      signal?.removeEventListener('abort', giveUp);
      await client.end();
    }
  } catch (error) {
    return problemOf(error, String(address));
  }
}

const standbys =
  "SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))::integer AS waits, " +
  'bool_or(sync_state IS NULL) AS hidden FROM pg_catalog.pg_stat_replication';
const owners =
  'SELECT version, floor(extract(epoch FROM clock_timestamp() - beat_at) * 1000)::bigint AS ago ' +
  'FROM svc.instance WHERE NOT dead ORDER BY id DESC LIMIT 1';
const newestIn = (table: string): string =>
  `(SELECT accepted_at FROM svc.${table} ORDER BY id DESC LIMIT 1)`;
const newest = `SELECT greatest(${newestIn('inbox')}, ${newestIn('message')}) AS at`;

async function detailsOf(client: Client, hasTables: boolean): Promise<ServerDetails> {
  const { rows } = await client.query<{ waits: number; hidden: boolean | null }>(standbys);
  const { waits, hidden } = rows[0]!;
  const synchronousStandbys = hidden === true ? null : waits;
  if (!hasTables) return { synchronousStandbys, owner: null, newestAt: null };
  const instances = await client.query<{ version: string; ago: number }>(owners);
  const owner =
    instances.rows.map(({ version, ago }) => ({ version, heartbeatAgoMs: ago }))[0] ?? null;
  const { rows: messages } = await client.query<{ at: number | null }>(newest);
  return { synchronousStandbys, owner, newestAt: messages[0]!.at };
}

function protocolOf(client: Client): string | null {
  const { stream } = (client as unknown as { connection: { stream: Partial<TLSSocket> } })
    .connection;
  return stream.getProtocol?.() ?? null;
}
