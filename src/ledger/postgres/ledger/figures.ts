/** Figures over time in the table `svc.figure`. */
import type { FigureRow } from '../../../telemetry/figures/figures.ts';
import { endsWithin } from '../../../lib/lifetime.ts';
import type { StoredFigures } from '../../ledger.ts';
import type { Reads } from '../deps.ts';

const keep =
  'INSERT INTO svc.figure (length_ms, at, run, body) SELECT length_ms, at, run, body ' +
  'FROM json_to_recordset($1) AS x(length_ms integer, at bigint, run bigint, body text) ' +
  'ON CONFLICT (length_ms, at, run) DO UPDATE SET body = excluded.body';

/** How long the end waits for the last write. */
const lastMs = 1_000;

/** Writes figures outside of batches, on a connection that no message uses. */
export class Figures implements StoredFigures, AsyncDisposable {
  readonly #reads: Reads;
  #keeping: Promise<unknown> = Promise.resolve();

  /** @param reads repeats the write while the server is away */
  constructor(reads: Reads) {
    this.#reads = reads;
  }

  keep(rows: readonly FigureRow[]): Promise<boolean> {
    const stored = rows.map(({ lengthMs, at, run, body }) => {
      return { length_ms: lengthMs, at, run, body };
    });
    const keeping = this.#reads.ask({ text: keep, values: [JSON.stringify(stored)] }).then(
      () => true,
      () => false,
    );
    this.#keeping = keeping;
    return keeping;
  }

  /** Waits for the last write, at most `lastMs`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endsWithin(this.#keeping, lastMs);
  }
}
