/**
 * Messages, newest first, in the order of (when it was accepted, `seq`). What is asked for picks
 * the index: what waits, what died, what ended in another way than with a reply, what is of one
 * brain; else each channel has its own order, and these are merged.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Page, PageAsked } from '../../../domain/page.ts';
import { isOnChannel } from '../../../domain/records.ts';
import type { MessageFilter, MessageRow } from '../../../domain/records.ts';
import { emptyPage, limitOf, nextOf, keyAfter, type PageKey } from '../../pages.ts';
import {
  fitsMessage,
  messageRowOf,
  type MessageSummary,
  type ReplySummary,
} from '../../read/messages.ts';
import { channelsOfMessages } from './channel-keys.ts';
import { looksMax, readPage, merge } from './read-page.ts';

type Told = MessageSummary & { readonly seq: number };

/** Accepted before (at, seq), and at `since` or later. */
type Span = readonly [at: number, seq: number, since: number];

const columns =
  'SELECT seq, id, channel, accepted_at AS acceptedAt, state, settled_at AS settledAt, brain, ' +
  'outcome, model FROM inbox INDEXED BY';
const inSpan =
  '(accepted_at, seq) < (?, ?) AND accepted_at >= ? ORDER BY accepted_at DESC, seq DESC';
const sources = {
  waiting: `${columns} inbox_unsettled WHERE state = 0 AND ${inSpan}`,
  dead: `${columns} inbox_dead_accepted WHERE state = 2 AND ${inSpan}`,
  unusual: `${columns} inbox_unusual WHERE outcome <> 'reply' AND outcome = ? AND ${inSpan}`,
  brain: `${columns} inbox_brain WHERE brain = ? AND ${inSpan}`,
  channel: `${columns} inbox_accepted WHERE channel = ? AND ${inSpan}`,
} as const;

const beginning: [number, number] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

export function listMessages(
  db: DatabaseSync,
  filter: MessageFilter,
  asked: PageAsked,
): Page<MessageRow> {
  const after = keyAfter(asked, beginning);
  if (after === null) return emptyPage;
  const until = filter.until ?? Number.MAX_SAFE_INTEGER;
  const [at, seq] = after[0] < until ? after : ([until, 0] as const);
  const candidates = candidatesOf(db, filter, [at, seq, filter.since ?? 0]);
  const found = readPage(candidates, limitOf(asked), (row) => fitsMessage(filter, row), placeOf);
  const repliesOf = db.prepare('SELECT state, settled_at AS at FROM outbox WHERE message_id = ?');
  const rows = found.rows.map((row) => {
    return messageRowOf(row, repliesOf.all(row.id) as unknown as readonly ReplySummary[]);
  });
  return { rows, next: found.next === null ? null : nextOf(found.next) };
}

function placeOf({ acceptedAt, seq }: Told): PageKey {
  return [acceptedAt, seq];
}

function candidatesOf(db: DatabaseSync, filter: MessageFilter, span: Span): Iterable<Told> {
  const read = (sql: string, ...values: (string | number)[]): Iterable<Told> =>
    db.prepare(sql).iterate(...values) as Iterable<unknown> as Iterable<Told>;
  const { state, outcome, brain } = filter;
  if (state === 'waiting' && fewWait(db)) return read(sources.waiting, ...span);
  if (state === 'dead') return read(sources.dead, ...span);
  if (outcome !== null && outcome !== 'reply') return read(sources.unusual, outcome, ...span);
  if (brain !== null) return read(sources.brain, brain, ...span);
  const channels = channelsOfMessages(db).filter((key) => isOnChannel(key, filter.channel));
  return merge(
    channels.map((key) => read(sources.channel, key, ...span)),
    isNewer,
  );
}

function isNewer(a: Told, b: Told): boolean {
  return a.acceptedAt > b.acceptedAt || (a.acceptedAt === b.acceptedAt && a.seq > b.seq);
}

/** Waiting messages are put in order for each page, unless many wait: looking finds those soon. */
function fewWait(db: DatabaseSync): boolean {
  const some = `SELECT 1 FROM inbox WHERE state = 0 LIMIT ${looksMax + 1}`;
  return Number(db.prepare(`SELECT count(*) AS n FROM (${some})`).get()?.['n']) <= looksMax;
}
