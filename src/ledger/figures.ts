/** Figures over time (`src/telemetry/figures/`): a part of the ledger, and of its reader. */
import type { FigureRow, FiguresAsked, KeptFigures } from '../telemetry/figures/figures.ts';

/** Without storage they are kept in memory, and every form bounds them by age and number. */
export interface StoredFigures {
  /**
   * Keeps rows, all or nothing, each in the place of one of the same length, time and run. No
   * message waits for it.
   * @returns false: they could not be kept, and may be given again
   */
  keep(rows: readonly FigureRow[]): Promise<boolean>;
}

export interface FiguresReader {
  /** All of it is of one moment. */
  figures(asked: FiguresAsked): Promise<KeptFigures>;
}
