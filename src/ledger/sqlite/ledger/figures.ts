import type { FigureRow } from '../../../telemetry/figures/figures.ts';
import type { StoredFigures } from '../../figures.ts';
import type { Journal } from '../write/group-commit.ts';

/** Figures go with whatever is written just then; for want of room they wait, and nothing else. */
export class Figures implements StoredFigures {
  readonly #journal: Journal;
  readonly #hasRoom: () => boolean;

  constructor(journal: Journal, hasRoom: () => boolean) {
    this.#journal = journal;
    this.#hasRoom = hasRoom;
  }

  async keep(rows: readonly FigureRow[]): Promise<boolean> {
    if (this.#journal.broken || !this.#hasRoom()) return false;
    for (const { lengthMs, at, run, body } of rows) {
      this.#journal.add(['figure', lengthMs, at, run, body]);
    }
    return this.#journal.writtenNow();
  }
}
