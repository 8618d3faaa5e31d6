/**
 * Closes each minute of the figures by the time of day and stores it, off the message path. Rows
 * that cannot be stored then are stored with the next ones.
 */
import { minuteMs } from '../lib/durations.ts';
import { gaugedOf, type FigureCounts } from '../telemetry/figures/counting.ts';
import { type FigureRow } from '../telemetry/figures/figures.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** How many rows may wait to be stored. Beyond that the oldest are lost. */
const owedMax = 120;

export type FigureDeps = {
  readonly counts: FigureCounts;
  readonly ledger: Pick<Ledger, 'figures' | 'gauges'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Aborts when the service begins to end. The figures counted until then are stored. */
  readonly over: AbortSignal;
};

/** @returns a function that ends it */
export function keepFigures(deps: FigureDeps): () => void {
  const keeping = new FigureKeeping(deps);
  keeping.begin();
  return () => keeping.end();
}

class FigureKeeping {
  readonly #deps: FigureDeps;
  readonly #owed = new Map<string, FigureRow>();
  #isKeeping = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(deps: FigureDeps) {
    this.#deps = deps;
  }

  begin(): void {
    const { over } = this.#deps;
    if (over.aborted) return;
    over.addEventListener('abort', this.#last, { once: true });
    this.#later();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#deps.over.removeEventListener('abort', this.#last);
  }

  /** Waits until the next minute begins, by the current time of day. */
  #later(): void {
    const { now } = this.#deps;
    this.#timer = setTimeout(this.#next, minuteMs - (now() % minuteMs)).unref();
  }

  readonly #next = (): void => {
    const { counts, ledger, now } = this.#deps;
    this.#owe(counts.turn(now(), gaugedOf(ledger.gauges())));
    void this.#keep();
    this.#later();
  };

  readonly #last = (): void => {
    const { counts, ledger, now } = this.#deps;
    this.end();
    const gauged = gaugedOf(ledger.gauges());
    this.#owe([...counts.turn(now(), gauged), ...counts.rowsNow(now(), gauged)]);
    this.#isKeeping = false;
    void this.#keep();
  };

  #owe(rows: readonly FigureRow[]): void {
    for (const row of rows) {
      const key = `${row.lengthMs} ${row.at} ${row.run}`;
      this.#owed.delete(key);
      this.#owed.set(key, row);
    }
    for (const key of this.#owed.keys()) {
      if (this.#owed.size <= owedMax) break;
      this.#owed.delete(key);
    }
  }

  async #keep(): Promise<void> {
    if (this.#isKeeping || this.#owed.size === 0) return;
    this.#isKeeping = true;
    const rows = [...this.#owed];
    const isKept = await this.#deps.ledger.figures.keep(rows.map(([, row]) => row));
    this.#isKeeping = false;
    if (!isKept) return;
    for (const [key, row] of rows) if (this.#owed.get(key) === row) this.#owed.delete(key);
  }
}
