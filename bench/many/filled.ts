/** Fills a database with resting conversations, and rows that wait in some of them. */
import type { Client } from 'pg';

/** The name of conversation `i`; successive numbers have names far apart. */
const name = "'c' || md5(i::text)";
const words = "repeat('words that a person might say ', 3)";
const ofThose = `lane.channel = 'webhook' AND lane.conversation = ${name}`;

/** @param numbers from 1 on */
export async function namesOf(client: Client, numbers: readonly number[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT ${name} AS name FROM unnest($1::int[]) AS i`,
    [numbers],
  );
  return rows.map((row) => row.name);
}

/** Each has two turns; one of them also has its message and its reply. */
export async function fillIdle(client: Client, conversations: number): Promise<void> {
  const all = `FROM generate_series(1, ${conversations}) AS i`;
  const body = `json_build_object('text', ${words})::text`;
  for (const text of [
    'INSERT INTO svc.lane (channel, conversation, tail, epoch) ' +
      `SELECT 'webhook', ${name}, 2, 2 ${all}`,
    'INSERT INTO svc.turn (channel, conversation, session, n, message_id, at, sender, private, ' +
      `text, reply) SELECT 'webhook', ${name}, 1, n, ${id(1)}, i, 's' || i % 500, true, ` +
      `${words}, ${words} ${all}, generate_series(1, 2) AS n`,
    'INSERT INTO svc.message (id, channel, conversation, n, accepted_at, sender, private, ' +
      `attempts, settled_at, brain, outcome, trace, body) SELECT ${id(1)}, 'webhook', ${name}, ` +
      `2, i, 's' || i % 500, true, 1, i, 'main', 'reply', '{}', ${body} ${all}`,
    'INSERT INTO svc.sent (id, channel, conversation, seq, created_at, message_id, attempts, ' +
      `replayed, possible_duplicate, late, settled_at, body) SELECT ${id(2)}, 'webhook', ` +
      `${name}, i, i, ${id(1)}, 1, 0, false, false, i, ${body} ${all}`,
  ]) {
    await client.query(text);
  }
}

/** Parks a reply in each of these conversations. @param dueAt milliseconds since 1970 */
export async function park(
  client: Client,
  numbers: readonly number[],
  dueAt: number,
): Promise<void> {
  await client.query('BEGIN');
  await client.query(
    'INSERT INTO svc.outbox (id, channel, conversation, created_at, message_id, attempts, late, ' +
      `parked, due_at, body) SELECT ${id(3)}, 'webhook', ${name}, i, ${id(1)}, 4, true, true, ` +
      `$2, json_build_object('inReplyTo', ${id(1)}, 'text', ${words}, 'target', 't', 'brain', ` +
      "'main', 'sessionStarted', null)::text FROM unnest($1::int[]) AS i",
    [numbers, dueAt],
  );
  await client.query(
    `UPDATE svc.lane AS lane SET waits = 1 FROM unnest($1::int[]) AS i WHERE ${ofThose}`,
    [numbers],
  );
  await client.query('COMMIT');
}

/** Puts a message into that conversation, for any instance. */
export async function queue(client: Client, number: number): Promise<void> {
  await client.query(
    'WITH lane AS (UPDATE svc.lane AS lane SET tail = lane.tail + 1, waits = 2 ' +
      `FROM (SELECT $1::int AS i) AS this WHERE ${ofThose} RETURNING conversation, tail, i) ` +
      'INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body) ' +
      "SELECT '004' || lpad(i::text, 9, '0') || lpad(tail::text, 10, '0'), 'webhook', " +
      "conversation, tail, $2, 's', true, json_build_object('sender', " +
      `json_build_object('id', 's', 'name', null), 'text', ${words}, 'media', null, ` +
      "'target', 't')::text FROM lane",
    [number, Date.now()],
  );
}

/** An old id. @param kind one digit, so that no two kinds share an id */
function id(kind: number): string {
  return `'00${kind}' || lpad(i::text, 19, '0')`;
}
