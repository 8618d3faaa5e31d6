import type { FigureRow } from '../../../telemetry/figures/figures.ts';
import { endsWithin } from '../../../lib/lifetime.ts';
import type { StoredFigures } from '../../ledger.ts';
import type { Reads } from '../deps.ts';

const keep =
  'INSERT INTO svc.figure (length_ms, at, run, body) SELECT length_ms, at, run, body ' +
  'FROM json_to_recordset($1) AS x(length_ms integer, at bigint, run bigint, body text) ' +
  'ON CONFLICT (length_ms, at, run) DO UPDATE SET body = excluded.body';

const lastMs = 1_000;

/** Figures are written on a connection by which no message goes, and in no flight. */
export class Figures implements StoredFigures, AsyncDisposable {
  readonly #reads: Reads;
  #keeping: Promise<unknown> = Promise.resolve();

  /** @param reads while the server is away, it asks again */
  constructor(reads: Reads) {
    this.#reads = reads;
  }

  keep(rows: readonly FigureRow[]): Promise<boolean> {
    const told = rows.map(({ lengthMs, at, run, body }) => {
      return { length_ms: lengthMs, at, run, body };
    });
    const keeping = this.#reads.ask({ text: keep, values: [JSON.stringify(told)] }).then(
      () => true,
      () => false,
    );
    this.#keeping = keeping;
    return keeping;
  }

  /** What was asked for last is kept, where the server answers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endsWithin(this.#keeping, lastMs);
  }
}
