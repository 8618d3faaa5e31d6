import type { FigureRow } from '../../../telemetry/figures/figures.ts';
import type { StoredFigures } from '../../figures.ts';
import type { GroupCommit } from '../write/group-commit.ts';

/** Figures go with whatever is written just then; for want of room they wait, and nothing else. */
export class Figures implements StoredFigures {
  readonly #groupCommit: GroupCommit;
  readonly #hasRoom: () => boolean;

  constructor(groupCommit: GroupCommit, hasRoom: () => boolean) {
    this.#groupCommit = groupCommit;
    this.#hasRoom = hasRoom;
  }

  async keep(rows: readonly FigureRow[]): Promise<boolean> {
    if (this.#groupCommit.broken || !this.#hasRoom()) return false;
    for (const { lengthMs, at, run, body } of rows) {
      this.#groupCommit.add(['figure', lengthMs, at, run, body]);
    }
    return this.#groupCommit.writtenNow();
  }
}
