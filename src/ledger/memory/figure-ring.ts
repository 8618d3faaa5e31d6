import { Gathering } from '../../telemetry/figures/rollup.ts';
import { hourMs, kept, minuteMs } from '../../telemetry/figures/figures.ts';
import type {
  FigureRow,
  FiguresAsked,
  KeptFigures,
  RowLength,
} from '../../telemetry/figures/figures.ts';
import type { FiguresReader, StoredFigures } from '../figures.ts';

/** The figures of the form that keeps nothing else: as long as any form keeps them. */
export class FigureRing implements StoredFigures, FiguresReader {
  /** In the order in which they were kept first. */
  readonly #rows = new Map<string, FigureRow>();

  async keep(rows: readonly FigureRow[]): Promise<boolean> {
    for (const row of rows) {
      this.#rows.set(`${row.lengthMs} ${row.at} ${row.run}`, row);
      this.#drop(row.lengthMs);
    }
    return true;
  }

  async figures(asked: FiguresAsked): Promise<KeptFigures> {
    const rows = [...this.#rows.values()];
    const gathering = new Gathering(asked);
    const fits = ({ lengthMs, at }: FigureRow): boolean =>
      lengthMs === asked.lengthMs && at >= asked.from && at < asked.until;
    for (const row of rows.filter(fits).toSorted((one, other) => one.at - other.at)) {
      gathering.add(row);
    }
    const { run, first, last } = asked.own;
    const isOwn = (row: FigureRow): boolean =>
      row.lengthMs === minuteMs && row.run === run && row.at >= first && row.at <= last;
    return gathering.told({
      first: { minute: firstOf(rows, minuteMs), hour: firstOf(rows, hourMs) },
      ownUntil: rows.findLast(isOwn)?.at ?? null,
    });
  }

  /** So many as there are in that time. */
  #drop(lengthMs: number): void {
    const { forMs } = kept.find((one) => one.lengthMs === lengthMs)!;
    const of = [...this.#rows].filter(([, row]) => row.lengthMs === lengthMs);
    for (const [key] of of.slice(0, -(forMs / lengthMs))) this.#rows.delete(key);
  }
}

function firstOf(rows: readonly FigureRow[], length: RowLength): number | null {
  const times = rows.filter(({ lengthMs }) => lengthMs === length).map(({ at }) => at);
  return times.length === 0 ? null : Math.min(...times);
}
