/**
 * What a start finds: every unsettled row goes back into the working set. Within a conversation
 * messages stand in the order of their numbers, and conversations in the order of their age.
 */
import type { Client } from 'pg';
import { Recovering, type LastEnd, type Recovered } from '../../ledger/recovering.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import { wholeIdLength } from '../../order/rows.ts';
import type { Rows } from '../write/statement.ts';
import type { Write } from '../write/writes.ts';
import { aloneMark, clearedMark, diedMark, triedMark } from './marks.ts';
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

/** What of it is to be written down before anything is handed out. */
export function recoveryWrites({ blamed, cleared, marked, died }: Recovered): readonly Write[] {
  const idsOf = (rows: readonly { readonly head: { readonly id: string } }[]): string[] =>
    rows.map(({ head }) => head.id);
  const writes: Write[] = marked.map(({ row, alone }) => aloneMark(row.head.id, alone));
  if (blamed.length > 0) writes.push(triedMark(idsOf(blamed)));
  if (cleared.length > 0) writes.push(clearedMark(idsOf(cleared)));
  if (died.length > 0) writes.push(diedMark(idsOf(died)));
  return writes;
}

/** The newest id of a message or reply that is kept; empty: none is. */
export async function lastId(client: Client): Promise<string> {
  const tables = ['inbox', 'message', 'outbox', 'sent'];
  const newest = tables.map((table) => `(SELECT max(id) FROM svc.${table})`);
  const { rows } = await client.query(`SELECT greatest(${newest.join(', ')}) AS id`);
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
