/** Rows of PostgreSQL's ledger for a case. Columns left out have usual values. */
import type { Client } from 'pg';
import { timeText } from '../../src/domain/ids.ts';
import { insertRows } from './insert-rows.ts';

export type Columns = Readonly<Record<string, unknown>>;
type Row = Parameters<typeof insertRows>[2][number];

/** Ids in ascending order. */
export function idOf(number: number): string {
  return timeText(1_700_000_000_000 + number) + '0'.repeat(12);
}

export const died = '{"kind":"server_error"}';
const here = { channel: 'webhook', conversation: 'ann' };
const body = JSON.stringify({
  sender: { id: 'ann', name: null },
  text: 'hi',
  media: null,
  target: 'x',
});

const usual: Readonly<Record<string, Columns>> = {
  lane: { ...here, tail: 1 },
  inbox: {
    id: idOf(1),
    ...here,
    n: 1,
    accepted_at: 1,
    sender: 'ann',
    private: false,
    attempts: 0,
    alone: 0,
    replayed: false,
    body,
  },
  approval: {
    id: idOf(1),
    ...here,
    code: '0123456789',
    state: 'waiting',
    sender: 'ann',
    message_id: idOf(1),
    brain: 'main',
    tool: 'http_post',
    private: false,
    asked_at: 1,
    expires_at: 2,
    body: '{}',
  },
  attachment: {
    message_id: idOf(1),
    place: 0,
    ...here,
    kind: 'picture',
    name: 'photo',
    type: 'image/jpeg',
    private: false,
    content: 'AA==',
  },
  outbox: {
    id: `${idOf(1)}-00`,
    ...here,
    seq: 1,
    created_at: 1,
    message_id: idOf(1),
    attempts: 0,
    replayed: 0,
    possible_duplicate: false,
    late: false,
    parked: false,
    due_at: null,
    body: JSON.stringify({ inReplyTo: idOf(1), text: 'hello' }),
  },
  message: {
    id: idOf(1),
    ...here,
    n: 1,
    accepted_at: 1,
    sender: 'ann',
    private: false,
    attempts: 0,
    replayed: false,
    settled_at: 1,
    outcome: 'reply',
    failure: null,
    trace: null,
    body,
  },
  sent: {
    id: `${idOf(1)}-00`,
    ...here,
    seq: 1,
    created_at: 1,
    message_id: idOf(1),
    attempts: 1,
    replayed: 0,
    possible_duplicate: false,
    late: false,
    settled_at: 1,
    failure: null,
    body: JSON.stringify({ inReplyTo: idOf(1), text: 'hello' }),
  },
  turn: {
    ...here,
    session: 1,
    n: 1,
    message_id: idOf(1),
    at: 1,
    sender: 'ann',
    private: false,
    left_out: 0,
    text: 'hi',
    reply: 'hello',
  },
  cut: { ...here, session: 2, at: 1, reason: 'asked' },
  note: { ...here, brain: null, message_id: idOf(1), at: 1, private: false, text: 'a note' },
  tool_use: {
    key: 'k',
    message_id: idOf(1),
    ...here,
    at: 1,
    ms: 1,
    tool: 'calc',
    mode: 'allow',
    rule: 'r',
    outcome: 'done',
    arguments: '{}',
  },
  tool_call: { key: 'k', message_id: idOf(1), tool: 'calc', hash: 'h', private: false },
  dedupe: { channel: 'webhook', key: 'k', message_id: idOf(1), expires_at: 1 },
  spend: {
    channel: 'webhook',
    sender: 'ann',
    day: '2027-03-04',
    brain: 'main',
    model: 'm',
    price_input: '',
    price_output: '',
    costs: false,
    instance: 1,
    calls: 1,
    estimated_calls: 0,
    input: 1,
    output: 1,
    open_input: 0,
    open_output: 0,
  },
  audit: { at: 1, action: 'replay', target: '{}', status: 200, reason: null },
};

/** @param some the unusual columns of each row */
export async function put(client: Client, table: string, ...some: Columns[]): Promise<void> {
  const rows = some.map((columns) => ({ ...usual[table], ...columns }) as Row);
  await insertRows(client, table, rows);
}

/** A column of all rows, in its order. */
export async function all(client: Client, table: string, column = 'id'): Promise<unknown[]> {
  const order = `SELECT ${column} AS value FROM svc.${table} ORDER BY 1`;
  return (await client.query<{ value: unknown }>(order)).rows.map(({ value }) => value);
}

export async function count(client: Client, table: string): Promise<number> {
  return (await all(client, table, '1')).length;
}
