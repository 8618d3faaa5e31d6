/** A new SQLite file, which has its name only once it is whole. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { SqliteSide } from './sqlite-source.ts';
import { tables, type Row, type TableName, type Target, type Value } from './tables.ts';

const names: Readonly<Record<TableName, string>> = {
  messages: 'inbox',
  replies: 'outbox',
  turns: 'turns',
  conversations: 'conversations',
  cuts: 'cuts',
  notes: 'notes',
  tool_uses: 'tool_uses',
  tool_calls: 'tool_calls',
  attachments: 'attachments',
  keys: 'dedupe',
  cursors: 'cursors',
  audit: 'audit',
  figures: 'figures',
  approvals: 'approvals',
  spend: 'spend',
};

/** Messages and turns are numbered anew, all together. */
const numbered = new Set<TableName>(['messages', 'turns']);

export class SqliteTarget extends SqliteSide implements Target {
  readonly #keep: () => void;

  /** @param keep called after the commit: gives the file its name */
  constructor(db: DatabaseSync, close: () => void, keep: () => void) {
    super(db, close);
    this.#keep = keep;
  }

  async put(table: TableName, rows: readonly Row[]): Promise<void> {
    const columns = tables[table].columns.filter((name) => name !== 'trace');
    const all = numbered.has(table) ? [...columns, 'seq'] : columns;
    const marks = all.map(() => '?').join(', ');
    const insert = this.db.prepare(
      `INSERT INTO ${names[table]} (${all.join(', ')}) VALUES (${marks})`,
    );
    const trace = this.db.prepare('INSERT INTO traces (message_id, body) VALUES (?, ?)');
    for (const row of rows) {
      const values = columns.map((name) => bound(row[name] ?? null));
      insert.run(...values, ...(numbered.has(table) ? [bound(row['number']!)] : []));
      const traced = row['trace'] ?? null;
      if (traced !== null) trace.run(bound(row['id']!), bound(traced));
    }
  }

  async complete(): Promise<void> {
    const newest = (column: string, of: readonly string[]): string =>
      `max(${of.map((table) => `coalesce((SELECT max(${column}) FROM ${table}), '')`).join(', ')})`;
    const seqs = ['inbox', 'outbox', 'turns', 'notes', 'tool_uses'];
    const highest = seqs.map((table) => `coalesce((SELECT max(seq) FROM ${table}), 0)`);
    this.db.exec(
      `UPDATE owner SET clean = 1, stamped = 1, last_seq = max(${highest.join(', ')}), ` +
        `last_id = substr(${newest('id', ['inbox', 'outbox'])}, 1, 22)`,
    );
  }

  async keep(): Promise<void> {
    this.db.exec('COMMIT');
    this.#keep();
  }
}

function bound(value: Value): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}
