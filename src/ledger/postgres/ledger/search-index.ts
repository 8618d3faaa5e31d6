/**
 * Puts the words of turns into the search index, in small steps on the connection for slow reads,
 * never in a batch. The instance with the janitor lease does it. If two instances do it for a
 * moment, the second one finds the rows and the place that the first one wrote.
 *
 * Two passes run in turn. One follows the settled messages with a delay of one minute. The other
 * goes over all turns, first from the start and then every hour. It finds old turns, late answers,
 * and dead letters that were replayed.
 */
import { timeText } from '../../../domain/ids.ts';
import { wordRules, wordsOf } from '../../search/words.ts';
import type { Reads } from '../deps.ts';
import { fromText, fromTextOrNull } from '../server/text.ts';
import type { Query, Rows } from '../write/statement.ts';
import { Janitor } from './janitor.ts';

/** The most turns that one step indexes. */
const turnsAtOnce = 100;
/** The most rows of an index with other word rules that one step deletes. */
const deletedAtOnce = 2_000;
/** The most turns that one step of the pass over all turns reads. */
const walkAtOnce = 1_000;
/** Longer than a batch can take, and than the clocks of instances differ. */
const behindMs = 60_000;
const everyMs = 5_000;

const state =
  "SELECT *, walked_at < clock_timestamp() - interval '1 hour' AS due FROM svc.search_state";
/** `SKIP LOCKED`: a batch that deletes a row at the same time need not be waited for. */
const deleteSome = `
DELETE FROM svc.search WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM svc.search LIMIT ${deletedAtOnce} FOR UPDATE SKIP LOCKED
)) RETURNING 1`;
const begin =
  "UPDATE svc.search_state SET rules = $1, since = $2, until = $2, channel = '', " +
  "conversation = '', session = 0, n = 0, walked = false";

const text = 'turn.message_id, turn.sender, turn.text, turn.reply';
/** Settled messages, each with its turn; a command has none. */
const settled = `
SELECT message.id, message.channel, message.conversation, turn.session, turn.n, ${text}
FROM (
  SELECT id, channel, conversation, n FROM svc.message WHERE id > $1 AND id <= $2
  ORDER BY id LIMIT ${turnsAtOnce}
) AS message LEFT JOIN LATERAL (
  SELECT * FROM svc.turn WHERE channel = message.channel
    AND conversation = message.conversation AND n = message.n LIMIT 1
) AS turn ON true
ORDER BY message.id`;
const moveUntil = 'UPDATE svc.search_state SET until = $2 WHERE until = $3';

const key = 'channel, conversation, session, n';
/** Reads only the keys of turns. */
const walk = `
SELECT ${key}, EXISTS (
  SELECT FROM svc.search WHERE channel = turn.channel AND conversation = turn.conversation
    AND session = turn.session AND n = turn.n
) AS has FROM svc.turn AS turn WHERE (${key}) > ($1, $2, $3, $4)
ORDER BY ${key} LIMIT ${walkAtOnce}`;
const given =
  'json_to_recordset($1) AS x(channel text COLLATE "C", conversation text COLLATE "C", ' +
  'session integer, n bigint, said_to text, words text)';
const turnsByKey = `SELECT ${key}, ${text} FROM svc.turn AS turn JOIN ${given} USING (${key})`;
const movePlace = `
UPDATE svc.search_state SET (${key}) = ($2, $3, $4, $5)
WHERE (${key}) = ($6, $7, $8, $9)`;
const endPass =
  "UPDATE svc.search_state SET channel = '', conversation = '', session = 0, n = 0, " +
  'walked = true, walked_at = clock_timestamp() WHERE $1::json IS NOT NULL';

/**
 * Leaves out turns that were deleted meanwhile. It does not wait for a batch that deletes some at
 * the same time, so the two cannot wait for each other.
 */
const put = (move: string): string => `
WITH held AS MATERIALIZED (
  SELECT ${key}, x.said_to, x.words FROM svc.turn AS turn JOIN ${given} USING (${key})
  FOR KEY SHARE OF turn SKIP LOCKED
), put AS (
  INSERT INTO svc.search (${key}, message_id, words)
  SELECT ${key}, said_to, array_to_tsvector(string_to_array(words, ' ')) FROM held
  ON CONFLICT DO NOTHING
)
${move}`;

type Place = readonly [channel: unknown, conversation: unknown, session: unknown, n: unknown];
const placeOf = (row: Rows[number]): Place => [
  row['channel'],
  row['conversation'],
  row['session'],
  row['n'],
];

/** Does one step. @returns whether there may be more to index now */
export async function indexOnce(reads: Reads, now: number): Promise<boolean> {
  const [at] = await reads.ask({ text: state, values: [] });
  if (at === undefined) return false;
  const upTo = timeText(Math.max(0, now - behindMs));
  if (at['rules'] !== wordRules) {
    const gone = await reads.ask({ text: deleteSome, values: [] });
    if (gone.length === 0) await reads.ask({ text: begin, values: [wordRules, upTo] });
    return true;
  }
  const more = await indexSettled(reads, String(at['until']), upTo);
  const isWalking = at['walked'] !== true || at['channel'] !== '' || at['due'] === true;
  return (isWalking && (await indexNextTurns(reads, placeOf(at)))) || more;
}

async function indexSettled(reads: Reads, until: string, upTo: string): Promise<boolean> {
  if (upTo <= until) return false;
  const messages = await reads.ask({ text: settled, values: [until, upTo] });
  const more = messages.length >= turnsAtOnce;
  const last = more ? String(messages.at(-1)!['id']) : upTo;
  const turns = messages.filter(({ session }) => session !== null);
  await reads.ask(putStatement(turns, moveUntil, [last, until]));
  return more;
}

async function indexNextTurns(reads: Reads, from: Place): Promise<boolean> {
  const seen = await reads.ask({ text: walk, values: [...from] });
  const missing = seen.filter(({ has }) => has === false).slice(0, turnsAtOnce);
  const isCut = missing.length === turnsAtOnce;
  const turns =
    missing.length === 0
      ? []
      : await reads.ask({ text: turnsByKey, values: [JSON.stringify(missing)] });
  if (!isCut && seen.length < walkAtOnce) {
    await reads.ask(putStatement(turns, endPass, []));
    return false;
  }
  const last = (isCut ? missing : seen).at(-1)!;
  await reads.ask(putStatement(turns, movePlace, [...placeOf(last), ...from]));
  return true;
}

function putStatement(turns: Rows, move: string, values: readonly unknown[]): Query {
  const rows = turns.map((turn) => {
    const [channel, conversation, session, n] = placeOf(turn);
    return {
      channel,
      conversation,
      session,
      n,
      said_to: turn['message_id'],
      words: words(turn),
    };
  });
  return { text: put(move), values: [JSON.stringify(rows), ...values] };
}

function words({ text: said, reply, sender, conversation }: Rows[number]): string {
  const readable = (stored: unknown) => fromTextOrNull(stored as string | null);
  return wordsOf(readable(said), readable(reply), readable(sender), fromText(String(conversation)));
}

/** Indexes new turns until it is disposed of. */
export function beginIndexing({
  reads,
  now,
  isMine,
}: {
  readonly reads: Reads;
  readonly now: () => number;
  readonly isMine: () => boolean;
}): Janitor {
  return new Janitor({ isMine, everyMs, step: () => indexOnce(reads, now()) });
}
