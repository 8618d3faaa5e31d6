/**
 * Dead letters: messages and replies that are not tried again. The newest come first, in the order
 * of (when it died, `seq`); `seq` counts over both boxes, so no two rows share a place. The parts
 * of a split reply are one letter, which stands where the last of them died.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Box } from '../../../domain/event.ts';
import type { DeadLetter, DeadLetterReason, DeadLetterText } from '../../../domain/story.ts';
import { countReasons } from '../../reasons.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import { wholeIdLength } from '../../engine/order/rows.ts';
import { letterOf, letterTextOf, type DeadRecord } from '../../read/dead-letters.ts';
import { reasonOf } from '../../read/stored-json.ts';
import { idCipherOf } from './id-cipher.ts';
import { emptyPage, limitOf, pageOf, keyAfter, type PageKey } from '../../pages.ts';

type DeadRow = DeadRecord & { readonly seq: number };

const messages =
  "SELECT 'in' AS box, seq, id, channel, conversation, id AS messageId, " +
  'accepted_at AS acceptedAt, settled_at AS diedAt, attempts, NULL AS tries, failure, body ' +
  'FROM inbox AS dead WHERE state = 2';
const replies =
  "SELECT 'out' AS box, seq, id, channel, conversation, message_id AS messageId, " +
  '(SELECT accepted_at FROM inbox WHERE inbox.id = dead.message_id) AS acceptedAt, ' +
  'settled_at AS diedAt, attempts, tries, failure, body ' +
  'FROM outbox AS dead WHERE state = 2';

/**
 * Of a letter's parts only the one that died last stands for it. A part's id is the whole reply's,
 * and `-00`, `-01` … behind it; `.` comes right after `-`.
 */
const standsForAll =
  `(length(dead.id) = ${wholeIdLength} OR NOT EXISTS (SELECT 1 FROM outbox AS part ` +
  `WHERE part.state = 2 AND part.id >= substr(dead.id, 1, ${wholeIdLength}) ` +
  `AND part.id < substr(dead.id, 1, ${wholeIdLength}) || '.' ` +
  'AND (part.settled_at, part.seq) > (dead.settled_at, dead.seq)))';
const behind =
  '(dead.settled_at, dead.seq) < (?, ?) ORDER BY dead.settled_at DESC, dead.seq DESC LIMIT ?';

const beginning: [number, number] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

export function listDeadLetters(db: DatabaseSync, asked: PageAsked): Page<DeadLetter> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, beginning);
  if (after === null) return emptyPage;
  const rows = [
    ...rowsOf(db, `${messages} AND ${behind}`, ...after, limit + 1),
    ...rowsOf(db, `${replies} AND ${standsForAll} AND ${behind}`, ...after, limit + 1),
  ].sort((a, b) => b.diedAt - a.diedAt || b.seq - a.seq);
  const placeOf = ({ diedAt, seq }: DeadRow): PageKey => [diedAt, seq];
  return pageOf(rows, limit, placeOf, (row) => letterOf(row, partsOf(db, row)));
}

export function listDeadLetterReasons(db: DatabaseSync): readonly DeadLetterReason[] {
  const counts = [
    "SELECT 'in' AS box, failure, count(*) AS count FROM inbox WHERE state = 2 GROUP BY failure",
    "SELECT 'out' AS box, failure, count(*) AS count FROM outbox AS dead " +
      `WHERE state = 2 AND ${standsForAll} GROUP BY failure`,
  ];
  const rows = counts.flatMap((sql) => db.prepare(sql).all());
  return countReasons(
    rows.map((row) => ({
      ...reasonOf(row['failure'] as string | null),
      box: row['box'] as Box,
      count: Number(row['count']),
    })),
  );
}

/** @param id of a message, of a reply, or of a part of one */
export function findDeadLetter(db: DatabaseSync, id: string): DeadLetterText | null {
  const [message] = rowsOf(db, `${messages} AND id = ?`, id);
  const parts = message === undefined ? wholeOf(db, id) : [message];
  const last = parts.toSorted((a, b) => a.diedAt - b.diedAt || a.seq - b.seq).at(-1);
  if (last === undefined) return null;
  return letterTextOf(idCipherOf(db), last, parts);
}

/** The dead parts of a reply, in their order: of most replies the only one. */
function partsOf(db: DatabaseSync, row: DeadRow): readonly DeadRow[] {
  return row.box === 'in' || row.id.length === wholeIdLength ? [row] : wholeOf(db, row.id);
}

function wholeOf(db: DatabaseSync, id: string): readonly DeadRow[] {
  const whole = id.slice(0, wholeIdLength);
  return rowsOf(db, `${replies} AND id >= ? AND id < ? ORDER BY id`, whole, `${whole}.`);
}

function rowsOf(db: DatabaseSync, sql: string, ...values: (number | string)[]): DeadRow[] {
  return db.prepare(sql).all(...values) as unknown as DeadRow[];
}
