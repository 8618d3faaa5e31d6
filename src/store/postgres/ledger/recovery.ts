/**
 * What a start finds: every unsettled row goes back into the working set. Within a conversation
 * messages stand in the order of their numbers, and conversations in the order of their age.
 */
import type { Client } from 'pg';
import { Recovering, type LastEnd, type Recovered } from '../../ledger/recovering.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import { wholeIdLength, type Row } from '../../order/rows.ts';
import type { PostgresFlights } from '../parts.ts';
import type { Rows } from '../write/statement.ts';
import type { Single } from '../write/writes.ts';
import { aloneMark, clearedMark, diedMark, lastIdKept, triedMark } from './marks.ts';
import { foundMessage, foundReply, messageColumns, replyColumns } from './stored-rows.ts';

/** So many rows come at once: a start may find a million. */
const pageRows = 5_000;

/** A message that was dead and is to be tried again stands behind what came after it. */
const messages =
  `SELECT ${messageColumns}, EXISTS (SELECT 1 FROM svc.outbox WHERE message_id = inbox.id) ` +
  'AS answered FROM svc.inbox ' +
  'ORDER BY max(id) OVER (PARTITION BY channel, conversation ORDER BY n), n';
const replies = `SELECT ${replyColumns} FROM svc.outbox ORDER BY seq`;

/**
 * @param client a connection in no transaction, which nobody else uses meanwhile
 * @param now milliseconds since 1970: what was due by then may have been sent
 */
export async function recover(
  client: Client,
  rows: WorkingSet,
  end: LastEnd,
  now: number,
): Promise<Recovered> {
  const recovering = new Recovering(rows, end, now);
  await client.query('BEGIN READ ONLY');
  for await (const row of rowsOf(client, messages)) {
    const found = foundMessage(row, rows.nextSeq());
    recovering.message({ ...found, answered: row['answered'] === true });
  }
  for await (const row of rowsOf(client, replies)) {
    recovering.reply(foundReply(row, rows.nextSeq()));
  }
  await client.query('COMMIT');
  return recovering.done();
}

/**
 * Writes down what changed, before anything is handed out. In steps: a flight of a million rows
 * would take longer than its answer is waited for. A crash between two steps counts some heads as
 * tried once more, as any crash of a start does.
 * @throws when it cannot be written
 */
export async function writeRecovered(flights: PostgresFlights, found: Recovered): Promise<void> {
  for (const { row, alone } of found.marked) flights.add(aloneMark(row.head.id, alone));
  const steps = [
    ...stepsOf(found.blamed, triedMark),
    ...stepsOf(found.cleared, clearedMark),
    ...stepsOf(found.died, diedMark),
  ];
  do {
    const [step] = steps.splice(0, 1);
    if (step !== undefined) flights.add(step);
    if (!(await flights.written(() => {}))) throw new Error('what was recovered cannot be written');
  } while (steps.length > 0);
}

function stepsOf(rows: readonly Row[], mark: (ids: readonly string[]) => Single): Single[] {
  const ids = rows.map(({ head }) => head.id);
  const count = Math.ceil(ids.length / pageRows);
  return Array.from({ length: count }, (_, at) => {
    return mark(ids.slice(at * pageRows, (at + 1) * pageRows));
  });
}

/**
 * The newest id of a message or reply that was ever written down; empty: none was. The sweep leaves
 * the newest row of a table, and for what a person deletes there is a mark.
 */
export async function lastId(client: Client): Promise<string> {
  const tables = ['inbox', 'message', 'outbox', 'sent'];
  const newest = tables.map((table) => `(SELECT max(id) FROM svc.${table})`);
  const given = [...newest, `(${lastIdKept})`].join(', ');
  const { rows } = await client.query(`SELECT greatest(${given}) AS id`);
  return String(rows[0]?.['id'] ?? '').slice(0, wholeIdLength);
}

async function* rowsOf(client: Client, text: string): AsyncGenerator<Rows[number]> {
  await client.query(`DECLARE found NO SCROLL CURSOR FOR ${text}`);
  for (;;) {
    const { rows } = await client.query(`FETCH ${pageRows} FROM found`);
    yield* rows as Rows;
    if (rows.length < pageRows) break;
  }
  await client.query('CLOSE found');
}
