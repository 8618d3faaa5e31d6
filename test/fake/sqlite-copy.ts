/** Copies a database of SQLite into one of PostgreSQL, whatever that held before. */
import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import {
  auditMoved,
  cursorMoved,
  cutMoved,
  laneMoved,
  messageMoved,
  noteMoved,
  ReplyMoves,
  toolUseMoved,
  turnMoved,
  type Kept,
  type Row,
} from '../../src/store/migrate/rows.ts';

const tables = [
  'lane',
  'inbox',
  'message',
  'outbox',
  'sent',
  'turn',
  'cut',
  'note',
  'tool_use',
  'cursor',
  'audit',
];

export async function copyTables(path: string, client: Client): Promise<void> {
  const rows = rowsIn(path);
  await client.query('BEGIN');
  await client.query(`TRUNCATE ${tables.map((table) => `svc.${table}`).join(', ')}`);
  for (const [table, some] of rows) await insertRows(client, table, some);
  await client.query('COMMIT');
}

export async function insertRows(
  client: Client,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const names = Object.keys(rows[0] ?? {}).join(', ');
  for (let from = 0; from < rows.length; from += 1_000) {
    const some = JSON.stringify(rows.slice(from, from + 1_000));
    const set = `json_populate_recordset(NULL::svc.${table}, $1)`;
    await client.query(`INSERT INTO svc.${table} (${names}) SELECT ${names} FROM ${set}`, [some]);
  }
}

function rowsIn(path: string): ReadonlyMap<string, Row[]> {
  using db = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string): readonly Kept[] => db.prepare(sql).all();
  const found = new Map<string, Row[]>(tables.map((table) => [table, []]));
  const add = (table: string, row: Row): void => void found.get(table)!.push(row);
  const isPrivate = (_: string, stamp: number | null): boolean => stamp === 1;
  db.exec('BEGIN');
  const traces = new Map(
    all('SELECT * FROM traces').map((row) => [row['message_id'], String(row['body'])]),
  );
  const ids = new Map<unknown, string>();
  const tails = new Map<string, number>();
  const lengthen = (row: Kept): void => {
    const key = JSON.stringify([row['channel'], row['conversation']]);
    tails.set(key, Math.max(tails.get(key) ?? 0, Number(row['seq'] ?? 0)));
  };
  for (const kept of all('SELECT * FROM inbox ORDER BY seq')) {
    ids.set(kept['seq'], String(kept['id']));
    lengthen(kept);
    const { table, row } = messageMoved(kept, traces.get(kept['id']) ?? null, isPrivate);
    add(table, row);
  }
  const replies = new ReplyMoves();
  for (const kept of all('SELECT * FROM outbox ORDER BY seq')) {
    const { table, row } = replies.move(kept);
    add(table, row);
    lengthen({ ...kept, seq: 0 });
  }
  for (const kept of all('SELECT * FROM turns')) {
    lengthen(kept);
    add('turn', turnMoved(kept, ids.get(kept['seq']) ?? null, isPrivate));
  }
  const cuts = new Map<string, Kept>();
  for (const kept of all('SELECT * FROM conversations')) {
    lengthen({ ...kept, seq: 0 });
    cuts.set(JSON.stringify([kept['channel'], kept['conversation']]), kept);
  }
  for (const [key, tail] of tails) {
    const [channel, conversation] = JSON.parse(key) as [string, string];
    add('lane', laneMoved({ channel, conversation }, tail, cuts.get(key) ?? null));
  }
  for (const kept of all('SELECT * FROM cuts')) add('cut', cutMoved(kept));
  for (const kept of all('SELECT * FROM notes')) add('note', noteMoved(kept, isPrivate));
  for (const kept of all('SELECT * FROM tool_uses')) add('tool_use', toolUseMoved(kept));
  for (const kept of all('SELECT * FROM cursors')) add('cursor', cursorMoved(kept));
  for (const kept of all('SELECT * FROM audit')) add('audit', auditMoved(kept));
  return found;
}
