/** A ledger of many messages in PostgreSQL, as after days of work. */
import { hourMs, minuteMs } from '../../src/lib/durations.ts';
import type { Client } from 'pg';
import { timeText } from '../../src/domain/ids.ts';
import { insertRows, type Row } from './insert-rows.ts';

/** The interval between messages, from `beganAt` on. */
export const everyMs = 500;
export const beganAt = 1_790_000_000_000;

/** The id of a message, or of its reply. */
export function idAt(number: number, kind: 'message' | 'reply' = 'message'): string {
  const ms = beganAt + number * everyMs + (kind === 'reply' ? 20 : 0);
  return timeText(ms) + timeText(number).padStart(12, '0');
}

export type Filled = {
  readonly messages: number;
  /** The number of the newest messages that wait, and of the newest replies that wait. */
  readonly waiting: number;
  /** The number of turns in each conversation. */
  readonly turnsEach: number;
};

/** Each 1,000th message and each 500th reply died; one channel in a hundred is `messenger_b:1`. */
export async function fill(client: Client, filled: Filled): Promise<void> {
  const { messages, waiting } = filled;
  const step = 5_000;
  for (let from = 0; from < messages; from += step) {
    const numbers = Array.from({ length: Math.min(step, messages - from) }, (_, at) => from + at);
    const isOpen = (number: number): boolean => number >= messages - waiting;
    const rows = numbers.map((number) => rowsAt(number, isOpen(number), filled));
    const of = (table: string): Row[] =>
      rows.flatMap((row) => (row[table] === undefined ? [] : [row[table]]));
    const tables = ['inbox', 'message', 'outbox', 'sent', 'turn', 'tool_use', 'audit'];
    for (const table of tables) await insertRows(client, table, of(table));
  }
  await client.query(
    'INSERT INTO svc.lane (channel, conversation, tail) ' +
      'SELECT channel, conversation, max(n) FROM (SELECT channel, conversation, n FROM svc.inbox ' +
      'UNION ALL SELECT channel, conversation, n FROM svc.message) AS said ' +
      'GROUP BY channel, conversation',
  );
}

const hook = 'webhook';
const gone = '{"kind":"gone","whose":"operator","status":410,"detail":"it is gone"}';

function rowsAt(number: number, isOpen: boolean, { turnsEach }: Filled): Record<string, Row> {
  const at = beganAt + number * everyMs;
  const id = idAt(number);
  const channel = number % 100 === 7 ? 'messenger_b:1' : hook;
  const place = { channel, conversation: `c${Math.floor(number / turnsEach)}` };
  const sender = `sender ${number % 500}`;
  const said = { sender: { id: sender, name: null }, text: `text ${number}`, media: null };
  const body = JSON.stringify({ ...said, target: 'x', pad: 'x'.repeat(200) });
  const head = { id, ...place, n: number, accepted_at: at, sender, private: false, body };
  const state = { attempts: 0, replayed: false };
  const reply = {
    id: idAt(number, 'reply'),
    ...place,
    seq: number,
    created_at: at + 20,
    message_id: id,
    attempts: 0,
    replayed: 0,
    possible_duplicate: false,
    late: false,
    body: JSON.stringify({ inReplyTo: id, text: `reply ${number} ${'y'.repeat(200)}` }),
  };
  if (isOpen) {
    const alone = { ...head, ...state, alone: 0 };
    return { inbox: alone, outbox: { ...reply, parked: false } };
  }
  const unusual = number % 200 === 3 ? 'busy' : 'reply';
  const end = { settled_at: at + 20, brain: 'main', outcome: unusual, model: 'm', trace: null };
  const died = (every: number): string | null => (number % every === 9 ? gone : null);
  const turn = { session: 1, n: number, message_id: id, at, sender, private: false, left_out: 0 };
  const use = { seq: number, key: `${id}:1:0`, message_id: id, ...place, at, ms: 1, tool: 'calc' };
  return {
    message: { ...head, ...state, ...end, failure: died(1_000) },
    sent: { ...reply, settled_at: at + 40, took_ms: 20, failure: died(500) },
    turn: { ...place, ...turn, text: `text ${number}`, reply: 'y'.repeat(200) },
    tool_use: { ...use, mode: 'allow', rule: 'r', outcome: 'done', arguments: '{}' },
    audit: { seq: number, at, action: 'replay', target: '{}', status: 200, reason: null },
  };
}

/** Writes so many messages, a tenth waiting, and rows in the tables that `fill` leaves empty. */
export async function fillAll(client: Client, messages: number): Promise<void> {
  await fill(client, { messages, waiting: messages / 10, turnsEach: 20 });
  const many = `FROM generate_series(1, ${messages}) AS i`;
  await client.query(
    'INSERT INTO svc.note (brain, channel, conversation, message_id, at, private, text) ' +
      "SELECT 'b' || i % 50, 'webhook', 'c' || i / 20, lpad(i::text, 22, '0'), i, false, 'n' " +
      many,
  );
  await client.query(
    'INSERT INTO svc.tool_call (key, message_id, tool, hash, private) ' +
      `SELECT 'k' || i, lpad(i::text, 22, '0'), 't', 'h', false ${many}`,
  );
  await client.query(
    'INSERT INTO svc.attachment ' +
      '(message_id, place, channel, conversation, kind, name, private, content) ' +
      `SELECT lpad(i::text, 22, '0'), 0, 'webhook', 'c1', 'picture', 'n', false, 'AA==' ${many}`,
  );
  await client.query(
    'INSERT INTO svc.dedupe (channel, key, message_id, expires_at) ' +
      `SELECT 'webhook', 'k' || i, lpad(i::text, 22, '0'), $1::bigint + i ${many}`,
    [beganAt],
  );
  await fillFigures(client);
  await fillApprovals(client, messages);
  await fillSpend(client, messages);
  await client.query(
    'INSERT INTO svc.cut (channel, conversation, session, at, reason) ' +
      `SELECT 'webhook', 'c' || i, 1, i, 'asked' ${many}`,
  );
}

/** One for each message: of a hundred one waits, one is owed, and the others are settled. */
export async function fillApprovals(client: Client, approvals: number): Promise<void> {
  await client.query(
    'INSERT INTO svc.approval (id, code, state, channel, conversation, sender, message_id, ' +
      'brain, tool, private, asked_at, expires_at, decided_at, decided_by, settled_at, ' +
      'outcome, body) ' +
      "SELECT lpad(i::text, 22, '0'), lpad(i::text, 10, '0'), " +
      "CASE WHEN i % 100 = 0 THEN 'waiting' " +
      "WHEN i % 1000 = 1 THEN 'refused' ELSE 'approved' END, " +
      "'webhook', 'c' || i / 20, 'sender ' || i % 500, lpad(i::text, 22, '0'), 'main', 't', " +
      "false, $1::bigint + i, $1::bigint + i + 1000, $1::bigint + i, 'operator', " +
      "CASE WHEN i % 100 > 1 THEN $1::bigint + i END, 'done', " +
      `'{"arguments":"{}"}' FROM generate_series(1, ${approvals}) AS i`,
    [beganAt],
  );
}

/** The figures of eight instances, and two days of minutes for the sweep. */
export async function fillFigures(client: Client): Promise<void> {
  for (const [lengthMs, rows] of [
    [minuteMs, 3 * 1_440],
    [hourMs, 720],
  ] as const) {
    await client.query(
      'INSERT INTO svc.figure (length_ms, at, run, body) ' +
        "SELECT $1::integer, $2::bigint + $1::bigint * at, run, '{}' " +
        `FROM generate_series(1, ${rows}) AS at, generate_series(1, 8) AS run`,
      [lengthMs, beganAt - (beganAt % hourMs)],
    );
  }
}

/** Thirty days of many senders and of their sum, beginning 450 days before the messages. */
async function fillSpend(client: Client, rows: number): Promise<void> {
  for (const whose of ["'webhook', 'sender ' || i / 30", "'', ''"]) {
    await client.query(
      'INSERT INTO svc.spend (channel, sender, day, brain, model, price_input, price_output, ' +
        'costs, instance, calls, estimated_calls, input, output, open_input, open_output) ' +
        `SELECT ${whose}, to_char(to_timestamp($1) + i % 30 * interval '1 day', 'YYYY-MM-DD'), ` +
        "'b1', 'm', '', '', false, i, 1, 0, 1, 1, 0, 0 " +
        `FROM generate_series(1, ${rows}) AS i`,
      [beganAt / 1_000 - 450 * 86_400],
    );
  }
}
