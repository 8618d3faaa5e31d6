/** A server's empty tables of svc; all of it is one transaction. */
import { toText } from '../postgres/server/text.ts';
import { PostgresSide, readyJson } from './postgres-source.ts';
import type { Row, TableName, Target, Value } from './tables.ts';

type Into = { readonly table: string; readonly columns: string };

const message =
  'id text, channel text, conversation text, n bigint, accepted_at bigint, sender text, ' +
  'private boolean, replayed boolean, attempts integer, body text';
const reply =
  'id text, channel text, conversation text, seq bigint, created_at bigint, message_id text, ' +
  'attempts integer, replayed integer, possible_duplicate boolean, late boolean, ' +
  'replayed_at bigint, failure text, tries text, body text';

const unsettled: Partial<Record<TableName, Into>> = {
  messages: { table: 'inbox', columns: `${message}, alone integer` },
  replies: { table: 'outbox', columns: `${reply}, parked boolean, due_at bigint` },
};

const intos: Readonly<Record<TableName, Into>> = {
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

/** Their numbers go on behind what was moved. */
const identities = ['outbox', 'note', 'tool_use', 'audit'];

export class PostgresTarget extends PostgresSide implements Target {
  async put(table: TableName, rows: readonly Row[]): Promise<void> {
    const waiting = unsettled[table];
    const isWaiting = (row: Row): boolean => waiting !== undefined && row['state'] === 0;
    if (waiting !== undefined) await this.#insert(waiting, rows.filter(isWaiting));
    await this.#insert(
      intos[table],
      rows.filter((row) => !isWaiting(row)),
    );
  }

  async #insert({ table, columns }: Into, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const names = columns.split(', ').map((column) => column.split(' ')[0]!);
    const chosen = rows.map((row) =>
      Object.fromEntries(names.map((name) => [name, stored(name, valueOf(name, row))])),
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

/** No instance has the number 0: rows that were moved are changed by none. */
function valueOf(name: string, row: Row): Value {
  return name === 'instance' ? 0 : (row[name] ?? null);
}

function stored(name: string, value: Value): Value {
  return typeof value === 'string' && !readyJson.has(name) ? toText(value) : value;
}
