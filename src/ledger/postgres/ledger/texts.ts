/** The texts of restored rows. They are read shortly before the ledger hands the rows out. */
import { messageFrom, replyFrom } from '../../engine/bodies.ts';
import type { InRow, OutRow, Row } from '../../engine/queue.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { Reads } from '../deps.ts';
import { fromText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';

const messages =
  'SELECT id, channel, conversation, accepted_at, private, body FROM svc.inbox WHERE id = ANY($1)';
const replies =
  'SELECT id, channel, conversation, created_at, body FROM svc.outbox WHERE id = ANY($1)';

/** Fills in the texts. A row that the table no longer has stays without its text. */
export async function readTexts(reads: Reads, rows: readonly Row[]): Promise<void> {
  const withoutText = rows.filter((row) => (row.box === 'in' ? row.message : row.reply) === null);
  const inRows = withoutText.filter((row) => row.box === 'in');
  const outRows = withoutText.filter((row) => row.box === 'out');
  const [messageRows, replyRows] = await Promise.all([
    find(reads, messages, inRows),
    find(reads, replies, outRows),
  ]);
  for (const row of inRows) fillMessage(row, messageRows);
  for (const row of outRows) fillReply(row, replyRows);
}

/** Removes rows without text: another instance deleted them or owns their queue now. */
export function removeMissing(from: WorkingSet, rows: readonly Row[]): void {
  for (const row of rows) {
    const isMissing = row.box === 'in' ? row.message === null : row.reply === null;
    if (!isMissing || row.gone) continue;
    const { channel, conversation } = row.queue;
    from.remove(channel, conversation, (one) => one === row);
  }
}

type Found = ReadonlyMap<string, Rows[number]>;

async function find(reads: Reads, text: string, rows: readonly Row[]): Promise<Found> {
  if (rows.length === 0) return new Map();
  const found = await reads.ask({ text, values: [rows.map(({ head }) => head.id)] });
  return new Map(found.map((row) => [String(row['id']), row]));
}

function fillMessage(row: InRow, found: Found): void {
  const record = recordOf(row, found);
  if (record === null) return;
  const { channel, conversation, accepted_at: acceptedAt, private: label, body } = record;
  row.message = messageFrom({
    id: row.head.id,
    channel: String(channel),
    conversation: fromText(String(conversation)),
    acceptedAt: Number(acceptedAt),
    sensitivity: label === true ? 'private' : 'public',
    body: String(body),
  });
}

function fillReply(row: OutRow, found: Found): void {
  const record = recordOf(row, found);
  if (record === null) return;
  const { channel, conversation, created_at: createdAt, body } = record;
  row.reply = replyFrom({
    id: row.head.id,
    channel: String(channel),
    conversation: fromText(String(conversation)),
    createdAt: Number(createdAt),
    body: String(body),
  });
}

function recordOf(row: Row, found: Found): Rows[number] | null {
  return found.get(row.head.id) ?? null;
}
