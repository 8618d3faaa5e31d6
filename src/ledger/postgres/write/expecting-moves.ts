/**
 * Moves of cursors that others may move as well: each says where its cursor must stand. One that
 * stands elsewhere undoes the whole flight, so such moves go with a flight of their caller alone.
 */
import type { CursorMove } from '../../ledger.ts';
import { toText, toTextOrNull } from '../server/text.ts';
import { asJson, type Single } from './writes.ts';

type ExpectingMove = CursorMove & { readonly expected: string | null };

/**
 * A cursor that others are moving just now is waited for. The logarithm of nothing is an error that
 * nothing else here makes: see `conflict` in server/errors.ts.
 */
const text = `
WITH moved AS (
  UPDATE svc.cursor AS was SET value = x.value
  FROM json_to_recordset($1) AS x(channel text COLLATE "C", name text COLLATE "C", value text,
    expected text)
  WHERE was.channel = x.channel AND was.name = x.name AND was.value = x.expected RETURNING 1
), made AS (
  INSERT INTO svc.cursor (channel, name, value)
  SELECT channel, name, value
  FROM json_to_recordset($1) AS x(channel text, name text, value text, expected text)
  WHERE expected IS NULL ON CONFLICT DO NOTHING RETURNING 1
)
SELECT ln(1 - $2::float8 + (SELECT count(*) FROM moved) + (SELECT count(*) FROM made))`;

export function isExpecting(move: CursorMove): move is ExpectingMove {
  return move.expected !== undefined;
}

/** Moves all, or undoes its flight. Of several moves of one cursor the last one counts. */
export function expectingMoves(moves: readonly ExpectingMove[]): Single {
  const rows = moves.map(({ channel, name, value, expected }) => {
    return { channel, name, value: toText(value), expected: toTextOrNull(expected) };
  });
  const last = [...new Map(rows.map((row) => [`${row.channel} ${row.name}`, row])).values()];
  return { kind: 'single', text, values: [asJson(last), last.length] };
}
