/** What was said in a conversation, or by one sender, oldest first. */
import type { ModelName } from '../../../domain/ids.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { TurnText, Whose } from '../../../domain/story.ts';
import { emptyPage, keyAfter, limitOf, pageCharactersMax, pageOf } from '../../pages.ts';
import type { PageKey } from '../../pages.ts';
import { turnText, type SpokenTurn } from '../../read/conversations.ts';
import { fromText, fromTextOrNull } from '../server/text.ts';
import { num, placed, whole, type Ask } from './ask.ts';

/** `bytes`: of the texts of the page up to this row. */
type TurnRecord = SpokenTurn & {
  readonly n: number;
  readonly bytes: number;
};

const length = 'octet_length(text) + coalesce(octet_length(reply), 0)';

/** Rows are read until their texts fill a page; two at least, which shows whether one follows. */
function turnsBy(where: string, order: string, limit: string): string {
  const window = `OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  const measured =
    `SELECT *, sum(${length}) ${window} AS bytes, row_number() ${window} AS place ` +
    `FROM svc.turn WHERE ${where} ORDER BY ${order} LIMIT ${limit}`;
  return (
    `SELECT channel, conversation, session, ${num('n', 'n')}, message_id AS "messageId", ` +
    `${num('at', 'at')}, sender, text, reply, ${num('bytes', 'bytes')}, ` +
    '(SELECT model FROM svc.message AS one WHERE one.id = turns.message_id) AS model, ' +
    "(SELECT coalesce(trace, '') FROM svc.message AS one WHERE one.id = turns.message_id " +
    `AND outcome = 'by_hand') AS "handTrace" ` +
    `FROM (${measured}) AS turns WHERE place <= 2 OR bytes - (${length}) <= ${pageCharactersMax} ` +
    `ORDER BY turns.place`
  );
}

const turnsOfConversation = turnsBy(
  'channel = $1 AND conversation = $2 AND (session, n) > ($3, $4)',
  'session, n',
  '$5',
);
const turnsOfSender = turnsBy(
  'channel = $1 AND sender = $2 AND (at, message_id) > ($3, $4)',
  'at, message_id',
  '$5',
);

/** Before every turn. */
const beforeAll: [number, number] = [0, -1];
const beforeAny: [number, string] = [Number.MIN_SAFE_INTEGER, ''];

export async function listTurns(ask: Ask, whose: Whose, asked: PageAsked): Promise<Page<TurnText>> {
  const limit = limitOf(asked);
  if (whose.kind === 'sender') {
    const after = keyAfter(asked, beforeAny);
    if (after === null) return emptyPage;
    const { channel, sender } = whose;
    const values = [channel, sender, whole(after[0]), after[1], limit + 1] as const;
    const rows = await ask<TurnRecord>(turnsOfSender, ...values);
    return pageOfTurns(rows, limit, ({ at, messageId }) => [at, messageId ?? '']);
  }
  const after = keyAfter(asked, beforeAll);
  if (after === null) return emptyPage;
  const { channel, conversation } = whose;
  const [session, n] = [Math.min(sessionMax, Math.max(0, whole(after[0]))), whole(after[1])];
  const rows = await ask<TurnRecord>(
    turnsOfConversation,
    channel,
    conversation,
    session,
    n,
    limit + 1,
  );
  return pageOfTurns(rows, limit, (row) => [row.session, row.n]);
}

/** What an integer column holds. */
const sessionMax = 2 ** 31 - 1;

function pageOfTurns(
  rows: readonly TurnRecord[],
  limit: number,
  placeOf: (row: TurnRecord) => PageKey,
): Page<TurnText> {
  const isFull = (rows.at(-1)?.bytes ?? 0) > pageCharactersMax;
  const shown = isFull ? Math.max(1, Math.min(limit, rows.length - 1)) : limit;
  return pageOf(rows, shown, placeOf, (row) => turnText(readable(row)));
}

function readable(row: TurnRecord): TurnRecord {
  const { sender, text, reply, model } = row;
  return {
    ...placed(row),
    sender: fromTextOrNull(sender),
    text: fromText(text),
    reply: fromTextOrNull(reply),
    model: fromTextOrNull(model) as ModelName | null,
  };
}
