import { Gathering } from '../../../telemetry/figures/rollup.ts';
import { hourMs, minuteMs } from '../../../telemetry/figures/figures.ts';
import type { FigureRow, FiguresAsked, KeptFigures } from '../../../telemetry/figures/figures.ts';
import { num, type Ask } from './ask.ts';

/** So many rows are read and added up at once: other work comes between. */
const pageRows = 100;

type Found = Pick<FigureRow, 'at' | 'run' | 'body'>;

const rowsBehind =
  `SELECT ${num('at', 'at')}, ${num('run', 'run')}, body FROM svc.figure ` +
  'WHERE length_ms = $1 AND (at, run) > ($2::bigint, $3::bigint) AND at < $4 ' +
  `ORDER BY figure.at, figure.run LIMIT ${pageRows}`;

/** The first of each length, by the index. */
const first = `SELECT ${num('min(at)', 'at')} FROM svc.figure WHERE length_ms = $1`;

const lastOwn =
  `SELECT ${num('max(at)', 'at')} FROM svc.figure ` +
  'WHERE length_ms = $1 AND at BETWEEN $2 AND $3 AND run = $4';

export async function readFigures(ask: Ask, asked: FiguresAsked): Promise<KeptFigures> {
  const { lengthMs, from, until, own } = asked;
  const gathering = new Gathering(asked);
  let after = { at: from, run: -1 };
  for (;;) {
    const rows = await ask<Found>(rowsBehind, lengthMs, after.at, after.run, until);
    for (const row of rows) gathering.add(row);
    if (rows.length < pageRows) break;
    after = rows.at(-1)!;
  }
  const firstOf = async (length: number): Promise<number | null> =>
    (await ask<{ readonly at: number | null }>(first, length))[0]?.at ?? null;
  const mine = [own.first, own.last, own.run];
  const [found] = await ask<{ readonly at: number | null }>(lastOwn, minuteMs, ...mine);
  return gathering.told({
    first: { minute: await firstOf(minuteMs), hour: await firstOf(hourMs) },
    ownUntil: found?.at ?? null,
  });
}
