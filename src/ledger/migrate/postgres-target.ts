/**
 * A PostgreSQL database as a source or a target of a migration. A target has empty tables of svc,
 * and one transaction fills them all.
 */
import { toText, fromText } from '../postgres/server/text.ts';
import {
  pageRows,
  tables,
  type Row,
  type TableName,
  type Target,
  type Value,
  type Side,
} from './tables.ts';
import type { Client } from 'pg';

// The source: the rows of a server's database in the format of `tables.ts`.

/**
 * The place of each message and turn among all, by age and in the order of each conversation. A
 * replayed dead letter comes behind the messages that were accepted before its replay.
 */
const places = `WITH place AS (
  SELECT channel, conversation, n, max(key) AS key FROM (
    SELECT channel, conversation, n, id AS key FROM svc.inbox
    UNION ALL SELECT channel, conversation, n, id FROM svc.message
    UNION ALL SELECT channel, conversation, n, message_id FROM svc.turn
  ) AS every GROUP BY channel, conversation, n
), aged AS (
  SELECT channel, conversation, n,
    max(key) OVER (PARTITION BY channel, conversation ORDER BY n) AS age FROM place
), numbered AS (
  SELECT channel, conversation, n,
    row_number() OVER (ORDER BY age, channel, conversation, n) AS number FROM aged
)`;

const sameMessage = (table: string): string =>
  `JOIN numbered USING (channel, conversation, n) ORDER BY ${table}.channel, ` +
  `${table}.conversation`;

const selects: Readonly<Record<TableName, string>> = {
  messages: `${places} SELECT one.*, number FROM (
    SELECT id, channel, conversation, n, accepted_at, sender, private, replayed, attempts, alone,
      body, 0 AS state, NULL::bigint AS settled_at, NULL AS brain, NULL AS outcome, NULL AS model,
      NULL AS failure, NULL AS trace, NULL AS unsent FROM svc.inbox
    UNION ALL SELECT id, channel, conversation, n, accepted_at, sender, private, replayed, attempts,
      0, body, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, settled_at, brain, outcome, model,
      failure, trace, unsent FROM svc.message
  ) AS one ${sameMessage('one')}, n`,
  replies: `SELECT id, channel, conversation, seq, created_at, message_id, attempts, replayed,
      possible_duplicate, late, replayed_at, parked, due_at, failure, tries, body, 0 AS state,
      NULL::bigint AS settled_at, NULL::bigint AS took_ms FROM svc.outbox
    UNION ALL SELECT id, channel, conversation, seq, created_at, message_id, attempts, replayed,
      possible_duplicate, late, replayed_at, false, NULL, failure, tries, body,
      CASE WHEN failure IS NULL THEN 1 ELSE 2 END, settled_at,
      CASE WHEN failure IS NULL THEN round(took_ms)::bigint END FROM svc.sent`,
  turns: `${places} SELECT one.channel, one.conversation, session, n, number, message_id, at,
    sender, private, left_out, text, reply FROM svc.turn AS one ${sameMessage('one')}, session, n`,
  conversations: `SELECT channel, conversation, session, coalesce(started_at, 0) AS started_at,
    coalesce(previous_at, started_at, 0) AS previous_at, windows
    FROM svc.lane WHERE session IS NOT NULL`,
  cuts: 'SELECT channel, conversation, session, at, reason FROM svc.cut',
  notes: `SELECT seq, brain, channel, conversation, message_id, at, private, text
    FROM svc.note ORDER BY seq`,
  tool_uses: `SELECT seq, key, message_id, channel, conversation, at, ms::numeric, tool, mode, rule,
    outcome, arguments, told FROM svc.tool_use ORDER BY seq`,
  tool_calls:
    'SELECT key, message_id, tool, hash, private, text, outcome, ms::numeric FROM svc.tool_call',
  attachments: `SELECT message_id, place, channel, conversation, kind, name, type, private,
    content FROM svc.attachment`,
  keys: 'SELECT channel, key, message_id, expires_at, fingerprint FROM svc.dedupe',
  cursors: 'SELECT channel, name, value FROM svc.cursor',
  audit: 'SELECT seq, at, action, target, status, reason FROM svc.audit ORDER BY seq',
  figures: 'SELECT length_ms, at, run, body FROM svc.figure',
  approvals: `SELECT id, code, state, channel, conversation, sender, message_id, brain, tool,
    private, asked_at, expires_at, decided_at, decided_by, settled_at, outcome, body
    FROM svc.approval`,
  // The sum over all instances.
  spend: `SELECT channel, sender, day, brain, model, price_input, price_output, costs,
      sum(calls)::bigint AS calls, sum(estimated_calls)::bigint AS estimated_calls,
      sum(input)::bigint AS input, sum(output)::bigint AS output,
      sum(open_input)::bigint AS open_input, sum(open_output)::bigint AS open_output
    FROM svc.spend GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
};

/** Columns of eight-byte integers, which the client may return as texts. */
const numbers = new Set(
  (
    'accepted_at settled_at created_at due_at took_ms at started_at previous_at expires_at ' +
    'replayed_at seq n number run asked_at decided_at calls estimated_calls input output ' +
    'open_input open_output'
  ).split(' '),
);
/** Columns of JSON text, stored as it is. */
const readyJson = new Set(['body', 'tries', 'trace', 'failure', 'target', 'unsent']);

export class PostgresSide implements Side {
  protected readonly client: Client;

  /**
   * @param client in a transaction that sees one moment; the transaction ends with the connection
   */
  constructor(client: Client) {
    this.client = client;
  }

  async count(table: TableName): Promise<number> {
    const { rows } = await this.client.query(`SELECT count(*) AS n FROM (${selects[table]}) AS t`);
    return Number(rows[0]?.['n']);
  }

  async *rows(table: TableName): AsyncGenerator<readonly Row[]> {
    await this.client.query(`DECLARE moved NO SCROLL CURSOR FOR ${selects[table]}`);
    for (;;) {
      const { rows } = await this.client.query(`FETCH ${pageRows(table)} FROM moved`);
      if (rows.length > 0) yield rows.map((found) => rowOf(table, found));
      if (rows.length < pageRows(table)) break;
    }
    await this.client.query('CLOSE moved');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end();
  }
}

function rowOf(table: TableName, found: Record<string, unknown>): Row {
  const row: Record<string, Value> = {};
  for (const [name, value] of Object.entries(found)) row[name] = valueFrom(name, value);
  for (const name of tables[table].columns) row[name] ??= null;
  return row;
}

function valueFrom(name: string, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (numbers.has(name)) return Number(value);
  if (typeof value === 'string' && !readyJson.has(name)) return fromText(value);
  return value as Value;
}

type TargetTable = { readonly table: string; readonly columns: string };

const message =
  'id text, channel text, conversation text, n bigint, accepted_at bigint, sender text, ' +
  'private boolean, replayed boolean, attempts integer, body text';
const reply =
  'id text, channel text, conversation text, seq bigint, created_at bigint, message_id text, ' +
  'attempts integer, replayed integer, possible_duplicate boolean, late boolean, ' +
  'replayed_at bigint, failure text, tries text, body text';

const unsettled: Partial<Record<TableName, TargetTable>> = {
  messages: { table: 'inbox', columns: `${message}, alone integer` },
  replies: { table: 'outbox', columns: `${reply}, parked boolean, due_at bigint` },
};

const targetTables: Readonly<Record<TableName, TargetTable>> = {
  messages: {
    table: 'message',
    columns:
      `${message}, settled_at bigint, brain text, outcome text, model text, failure text, ` +
      'trace text, unsent text',
  },
  replies: { table: 'sent', columns: `${reply}, settled_at bigint, took_ms double precision` },
  turns: {
    table: 'turn',
    columns:
      'channel text, conversation text, session integer, n bigint, message_id text, at bigint, ' +
      'sender text, private boolean, left_out smallint, text text, reply text',
  },
  conversations: {
    table: 'lane',
    columns:
      'channel text, conversation text, session integer, started_at bigint, ' +
      'previous_at bigint, windows text',
  },
  cuts: {
    table: 'cut',
    columns: 'channel text, conversation text, session integer, at bigint, reason text',
  },
  notes: {
    table: 'note',
    columns:
      'seq bigint, brain text, channel text, conversation text, message_id text, at bigint, ' +
      'private boolean, text text',
  },
  tool_uses: {
    table: 'tool_use',
    columns:
      'seq bigint, key text, message_id text, channel text, conversation text, at bigint, ' +
      'ms double precision, tool text, mode text, rule text, outcome text, arguments text, ' +
      'told text',
  },
  tool_calls: {
    table: 'tool_call',
    columns:
      'key text, message_id text, tool text, hash text, private boolean, text text, ' +
      'outcome text, ms double precision',
  },
  attachments: {
    table: 'attachment',
    columns:
      'message_id text, place integer, channel text, conversation text, kind text, name text, ' +
      'type text, private boolean, content text',
  },
  keys: {
    table: 'dedupe',
    columns: 'channel text, key text, message_id text, expires_at bigint, fingerprint text',
  },
  cursors: { table: 'cursor', columns: 'channel text, name text, value text' },
  audit: {
    table: 'audit',
    columns: 'seq bigint, at bigint, action text, target text, status integer, reason text',
  },
  figures: { table: 'figure', columns: 'length_ms integer, at bigint, run bigint, body text' },
  approvals: {
    table: 'approval',
    columns:
      'id text, code text, state text, channel text, conversation text, sender text, ' +
      'message_id text, brain text, tool text, private boolean, asked_at bigint, ' +
      'expires_at bigint, decided_at bigint, decided_by text, settled_at bigint, outcome text, ' +
      'body text',
  },
  spend: {
    table: 'spend',
    columns:
      'channel text, sender text, day text, brain text, model text, price_input text, ' +
      'price_output text, costs boolean, instance bigint, calls bigint, estimated_calls bigint, ' +
      'input bigint, output bigint, open_input bigint, open_output bigint',
  },
};

/** Tables whose sequences must continue behind the moved rows. */
const identities = ['outbox', 'note', 'tool_use', 'audit'];

export class PostgresTarget extends PostgresSide implements Target {
  async put(table: TableName, rows: readonly Row[]): Promise<void> {
    const waiting = unsettled[table];
    const isWaiting = (row: Row): boolean => waiting !== undefined && row['state'] === 0;
    if (waiting !== undefined) await this.#insert(waiting, rows.filter(isWaiting));
    await this.#insert(
      targetTables[table],
      rows.filter((row) => !isWaiting(row)),
    );
  }

  async #insert({ table, columns }: TargetTable, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const names = columns.split(', ').map((column) => column.split(' ')[0]!);
    const chosen = rows.map((row) =>
      Object.fromEntries(names.map((name) => [name, stored(name, targetValue(name, row))])),
    );
    await this.client.query(
      `INSERT INTO svc.${table} (${names.join(', ')}) ` +
        `SELECT ${names.join(', ')} FROM json_to_recordset($1) AS x(${columns})`,
      [JSON.stringify(chosen)],
    );
  }

  async complete(): Promise<void> {
    const queues = ['inbox', 'message', 'turn'].map(
      (table) => `SELECT channel, conversation, n FROM svc.${table}`,
    );
    await this.client.query(
      'INSERT INTO svc.lane (channel, conversation, tail) SELECT channel, conversation, max(n) ' +
        `FROM (${queues.join(' UNION ALL ')}) AS every GROUP BY channel, conversation ` +
        'ON CONFLICT (channel, conversation) DO UPDATE SET tail = excluded.tail',
    );
    const waiting = ['inbox', 'outbox'].map((table) => {
      return `SELECT channel, conversation FROM svc.${table}`;
    });
    await this.client.query(
      `UPDATE svc.lane AS lane SET waits = 2 FROM (${waiting.join(' UNION ')}) AS one ` +
        'WHERE lane.channel = one.channel AND lane.conversation = one.conversation',
    );
    for (const table of identities) {
      const both = table === 'outbox' ? ['outbox', 'sent'] : [table];
      const newest = both.map((one) => `(SELECT max(seq) FROM svc.${one})`).join(', ');
      await this.client.query(
        `SELECT setval(pg_get_serial_sequence('svc.${table}', 'seq'), ` +
          `coalesce(greatest(${newest}), 0) + 1, false)`,
      );
    }
  }

  async keep(): Promise<void> {
    await this.client.query('COMMIT');
    await this.client.query('ANALYZE svc.lane, svc.inbox, svc.outbox, svc.message, svc.sent');
  }
}

/** No instance has the number 0, so no instance changes the moved rows. */
function targetValue(name: string, row: Row): Value {
  return name === 'instance' ? 0 : (row[name] ?? null);
}

function stored(name: string, value: Value): Value {
  return typeof value === 'string' && !readyJson.has(name) ? toText(value) : value;
}
