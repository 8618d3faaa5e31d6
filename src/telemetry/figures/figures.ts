/**
 * Figures: numbers for each minute and each hour, for charts over time. Every start of svc counts
 * separately, as a run, and stores a row per minute and a row per hour. A reader adds up the rows
 * of all runs. Figures hold nothing about a person.
 */
import { dayMs, hourMs, minuteMs } from '../../lib/durations.ts';

/** How long svc keeps rows, by their length. */
export const kept = [
  { lengthMs: minuteMs, forMs: dayMs },
  { lengthMs: hourMs, forMs: 30 * dayMs },
] as const;

export type RowLength = (typeof kept)[number]['lengthMs'];

/** The most rows of each length. Only the newest stay, however often svc was started. */
export const figureRowsMax = 50_000;

/** The most models of one row. Further ones count together, under `others`. */
export const modelsMax = 50;
export const others = 'others';

/** The most configurations of one row: the last ones. */
export const marksOfRowMax = 10;

/** A configuration came into use; `at`: milliseconds since 1970. */
export type Mark = { readonly at: number; readonly revision: string };

/** The counts of one run in a minute or an hour. Storing the same row again replaces it. */
export type FigureRow = {
  readonly lengthMs: RowLength;
  /** When it begins, milliseconds since 1970. */
  readonly at: number;
  /** A number that no other start of svc has. Within a run, minutes are stored in order. */
  readonly run: number;
  /** JSON of a `Body`. */
  readonly body: string;
};

/** A bucket in its stored form. A later release may add fields. */
export type Body = {
  readonly accepted: number;
  readonly answered: number;
  readonly failed: number;
  /** In the form of `LogHistogram.told()`. */
  readonly times: readonly number[];
  /** null while the bucket has not ended. */
  readonly end: Ending | null;
  readonly models: readonly ModelBody[];
  /** The revision in use at the bucket's end. */
  readonly revision: string | null;
  readonly configs: readonly Mark[];
};

/** The gauges at the end of a bucket; `at`: milliseconds since 1970. */
export type Ending = { readonly at: number; readonly queue: number; readonly deadLetters: number };

export type ModelBody = {
  readonly model: string;
  readonly provider: string;
  readonly answered: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly times: readonly number[];
};

export const spans = ['hour', 'day', 'month'] as const;
export type Span = (typeof spans)[number];

/** How a span is divided: `steps` steps of `stepMs`, each added up from rows of `lengthMs`. */
export const scales = {
  hour: { lengthMs: minuteMs, stepMs: minuteMs, steps: 60 },
  day: { lengthMs: minuteMs, stepMs: 15 * minuteMs, steps: 96 },
  month: { lengthMs: hourMs, stepMs: 6 * hourMs, steps: 120 },
} as const satisfies Record<Span, { lengthMs: RowLength; stepMs: number; steps: number }>;

/** A request for the rows of one length from `from` until before `until`, added up by steps. */
export type FiguresRequest = {
  readonly lengthMs: RowLength;
  readonly stepMs: number;
  readonly from: number;
  readonly until: number;
  readonly own: AtHand;
};

/** The minutes that the present run has in memory, stored or not. */
export type AtHand = {
  readonly run: number;
  readonly first: number;
  readonly last: number;
};

export type KeptFigures = {
  /** One entry per step; null: no run stored anything in it. */
  readonly steps: readonly (Body | null)[];
  /** When the first stored row begins, milliseconds since 1970; null: there is none. */
  readonly since: number | null;
  /**
   * The last minute in memory that is stored, and also counted in its stored hour; null: there is
   * none.
   */
  readonly ownUntil: number | null;
  /** The revision in use before the first of `marks`; null: unknown. */
  readonly revisionBefore: string | null;
  /** In order of time. Of very many, only the last ones. */
  readonly marks: readonly Mark[];
};
