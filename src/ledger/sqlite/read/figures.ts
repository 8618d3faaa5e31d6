import type { DatabaseSync } from 'node:sqlite';
import { Gathering } from '../../../telemetry/figures/rollup.ts';
import { hourMs, minuteMs } from '../../../telemetry/figures/figures.ts';
import type { FigureRow, FiguresAsked, KeptFigures } from '../../../telemetry/figures/figures.ts';

export function readFigures(db: DatabaseSync, asked: FiguresAsked): KeptFigures {
  const { lengthMs, from, until, own } = asked;
  const gathering = new Gathering(asked);
  const rows = db.prepare(
    'SELECT at, body FROM figures WHERE length_ms = ? AND at >= ? AND at < ? ORDER BY at, run',
  );
  for (const row of rows.iterate(lengthMs, from, until)) {
    gathering.add(row as Pick<FigureRow, 'at' | 'body'>);
  }
  const numberOf = (sql: string, ...values: readonly number[]): number | null => {
    const found = db.prepare(sql).get(...values)?.['n'] ?? null;
    return found === null ? null : Number(found);
  };
  const firstOf = (length: number): number | null =>
    numberOf('SELECT min(at) AS n FROM figures WHERE length_ms = ?', length);
  return gathering.told({
    first: { minute: firstOf(minuteMs), hour: firstOf(hourMs) },
    ownUntil: numberOf(
      'SELECT max(at) AS n FROM figures WHERE length_ms = ? AND at BETWEEN ? AND ? AND run = ?',
      minuteMs,
      own.first,
      own.last,
      own.run,
    ),
  });
}
